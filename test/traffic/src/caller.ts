/** In a line, what becomes of a call that a workload makes, by the configuration of its proxy. */
import { type JsonObject, typeUrl } from "@flotilla/proto";
import type { Call } from "./simulate/call.ts";
import { at, objectsAt, textAt, textsAt } from "./simulate/json.ts";
import { type Configuration, type Meeting, meet } from "./simulate/simulate.ts";

export interface CallOptions {
  readonly method?: string;
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** The proxy's resources of a type in their JSON form: those of the names, or all. */
export type ResourcesOf = (type: string, names?: readonly string[]) => readonly JsonObject[];

export class Caller {
  readonly #namespace: string;
  readonly #resources: ResourcesOf;

  constructor(namespace: string, resources: ResourcesOf) {
    this.#namespace = namespace;
    this.#resources = resources;
  }

  /** Takes `http:`, `https:` (TLS to the callee, by the host as server name) and `tcp:` URLs. */
  calls(url: string, { method = "GET", headers = {} }: CallOptions = {}): string {
    const { protocol, hostname, port, pathname, search } = new URL(url);
    const call: Call = {
      Address: this.#resolve(hostname),
      Port: Number(port || (protocol === "https:" ? 443 : 80)),
      HostHeader: hostname,
      Path: `${pathname}${search}`,
      Protocol: protocol === "tcp:" ? "tcp" : "http",
      TLS: protocol === "https:" ? "tls" : "plaintext",
      CallMode: "outbound",
      Method: method,
      Headers: headers,
    };
    return describe(meet(this.#configuration(), call));
  }

  /** The address that the proxy's name table gives; some address for names it does not know. */
  #resolve(hostname: string): string {
    const [table] = this.#resources(typeUrl.nameTable);
    const namespace = this.#namespace;
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
