/** Calls in a mesh that is written down as YAML: `aMesh(yaml).proxy({ namespace: "shop" }).calls("http://reviews/x")`. */
import { type KubeObject, type Proxy, parseNode } from "@flotilla/model";
import { bytesToJson, type JsonObject, typeUrl } from "@flotilla/proto";
import { createMesh, type Mesh } from "@flotilla/registry";
import { nameSet } from "@flotilla/xds";
import { Core } from "@flotilla/xds-server/core";
import { parseAllDocuments } from "yaml";
import type { Call } from "./simulate/call.ts";
import { at, objectsAt, textAt, textsAt } from "./simulate/json.ts";
import { type Configuration, type Meeting, meet } from "./simulate/simulate.ts";

export interface ProxyOptions {
  readonly namespace: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly address?: string;
}

export interface CallOptions {
  readonly method?: string;
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A mesh of Kubernetes and Istio objects. @throws when an object is refused. */
export function aMesh(yaml: string, meshConfig: JsonObject = {}): TestMesh {
  return new TestMesh(yaml, meshConfig);
}

export class TestMesh {
  readonly #core = new Core();
  readonly #mesh: Mesh = createMesh({});

  constructor(yaml: string, meshConfig: JsonObject) {
    this.#apply(this.#mesh.apply({ put: documents(yaml), mesh: meshConfig as never, networks: {} }));
  }

  put(yaml: string): void {
    this.#apply(this.#mesh.apply({ put: documents(yaml) }));
  }

  proxy({ namespace, labels = {}, address = "10.0.0.1" }: ProxyOptions): TestProxy {
    const proxy = parseNode({
      id: `sidecar~${address}~app.${namespace}~${namespace}.svc.cluster.local`,
      locality: { region: "", zone: "", subzone: "" },
      metadata: { NAMESPACE: namespace, CLUSTER_ID: "Kubernetes", LABELS: labels, INSTANCE_IPS: address },
    });
    return new TestProxy(this.#core, proxy);
  }

  #apply(changes: Parameters<Core["apply"]>[0]): void {
    const [refusal] = this.#core.apply(changes);
    if (refusal !== undefined) throw refusal.error;
  }
}

export class TestProxy {
  readonly #core: Core;
  readonly #proxy: Proxy;

  constructor(core: Core, proxy: Proxy) {
    this.#core = core;
    this.#proxy = proxy;
  }

  /** In a line, what becomes of a request that the workload sends. */
  calls(url: string, { method = "GET", headers = {} }: CallOptions = {}): string {
    const { protocol, hostname, port, pathname, search } = new URL(url);
    const call: Call = {
      Address: this.#resolve(hostname),
      Port: Number(port || (protocol === "https:" ? 443 : 80)),
      HostHeader: hostname,
      Path: `${pathname}${search}`,
      Protocol: protocol === "tcp:" ? "tcp" : "http",
      CallMode: "outbound",
      Method: method,
      Headers: headers,
    };
    return describe(meet(this.#configuration(), call));
  }

  /** The address that the proxy's name table gives; some address for names it does not know. */
  #resolve(hostname: string): string {
    const [table] = this.#resources(typeUrl.nameTable);
    const { namespace } = this.#proxy;
    const suffixes = ["", `.${namespace}.svc.cluster.local`, ".svc.cluster.local", ".cluster.local"];
    const [address] = suffixes.flatMap((suffix) => textsAt(table, "table", `${hostname}${suffix}`, "ips"));
    return address ?? "192.0.2.1";
  }

  #configuration(): Configuration {
    return {
      listeners: this.#resources(typeUrl.listener),
      routes: (name) => this.#resources(typeUrl.route, [name])[0],
    };
  }

  #resources(type: string, names?: readonly string[]): readonly JsonObject[] {
    const set = this.#core.resources(this.#core.subjectOf(this.#proxy), type, names && nameSet(names));
    return [...(set?.byName.values() ?? [])].map(({ bytes }) => bytesToJson(type, bytes) as JsonObject);
  }
}

function describe({ outcome, route }: Meeting): string {
  if (outcome.error !== undefined) return outcome.error;
  if (route === undefined) return outcome.cluster ?? "nothing";
  const redirect = at(route, "redirect");
  if (redirect !== undefined) {
    const [scheme, host, path] = ["schemeRedirect", "hostRedirect", "pathRedirect"].map((key) => textAt(redirect, key));
    return `redirect ${scheme || "http"}://${host}${path}`;
  }
  if (at(route, "directResponse") !== undefined) return textAt(route, "directResponse", "status");
  const mirrors = objectsAt(route, "route", "requestMirrorPolicies").map((mirror) => ` + ${textAt(mirror, "cluster")}`);
  return `${targets(route)}${mirrors.join("")}`;
}

function targets(route: JsonObject): string {
  const weighted = objectsAt(route, "route", "weightedClusters", "clusters");
  if (weighted.length === 0) return textAt(route, "route", "cluster");
  return weighted.map((cluster) => `${textAt(cluster, "weight")} ${textAt(cluster, "name")}`).join(", ");
}

function documents(yaml: string): readonly KubeObject[] {
  return parseAllDocuments(yaml)
    .map((document) => document.toJS() as KubeObject | null)
    .filter((object) => object !== null);
}
