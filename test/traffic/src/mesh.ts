/** Calls in a mesh that is written down as YAML: `aMesh(yaml).proxy({ namespace: "shop" }).calls("http://reviews/x")`. */
import { type KubeObject, parseNode } from "@flotilla/model";
import { bytesToJson, type JsonObject, typeUrl } from "@flotilla/proto";
import { createMesh, type Mesh } from "@flotilla/registry";
import { type ProxyConfiguration, textAt } from "@flotilla/traffic";
import { nameSet } from "@flotilla/xds";
import { Core } from "@flotilla/xds-server/core";
import { parseAllDocuments } from "yaml";
import { Caller, type ResourcesOf } from "./caller.ts";

export interface ProxyOptions {
  readonly namespace: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly address?: string;
  readonly locality?: { readonly region: string; readonly zone: string };
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

  proxy(options: ProxyOptions): Caller {
    return new Caller(options.namespace, this.#resourcesOf(options));
  }

  /** All that a proxy has, as the evaluator of ways reads it. */
  configuration(options: ProxyOptions): ProxyConfiguration {
    const resources = this.#resourcesOf(options);
    const named = (type: string) => (name: string) => resources(type, [name])[0];
    const clusters = new Map(resources(typeUrl.cluster).map((one) => [textAt(one, "name"), one]));
    return {
      listeners: resources(typeUrl.listener),
      routes: named(typeUrl.route),
      clusters: (name) => clusters.get(name),
      endpoints: named(typeUrl.endpoint),
    };
  }

  #resourcesOf({ namespace, labels = {}, address = "10.0.0.1", locality }: ProxyOptions): ResourcesOf {
    const proxy = parseNode({
      id: `sidecar~${address}~app.${namespace}~${namespace}.svc.cluster.local`,
      locality: { region: "", zone: "", subzone: "", ...locality },
      metadata: { NAMESPACE: namespace, CLUSTER_ID: "Kubernetes", LABELS: labels, INSTANCE_IPS: address },
    });
    return (type, names) => {
      const set = this.#core.resources(this.#core.subjectOf(proxy), type, names && nameSet(names));
      return [...(set?.byName.values() ?? [])].map(({ bytes }) => bytesToJson(type, bytes) as JsonObject);
    };
  }

  #apply(changes: Parameters<Core["apply"]>[0]): void {
    const [refusal] = this.#core.apply(changes);
    if (refusal !== undefined) throw refusal.error;
  }
}

function documents(yaml: string): readonly KubeObject[] {
  return parseAllDocuments(yaml)
    .map((document) => document.toJS() as KubeObject | null)
    .filter((object) => object !== null);
}
