/** A proxy's session that asks for everything an Envoy asks for, and has it encoded as a stream would. */
import { type Proxy, parseNode } from "@flotilla/model";
import { typeUrl } from "@flotilla/proto";
import { type NameSet, nameSet, type Resource, type ResourceSet } from "@flotilla/xds";
import type { CoreSource } from "../src/app/core-source.ts";
import type { ProxySession } from "../src/serve/resource-source.ts";

const routes = nameSet(["80"]);

/** Sets that were encoded, and what of them: streams share messages by the identity of sets. */
const encodedSets = new WeakSet<ResourceSet>();

export class BenchView {
  readonly #session: ProxySession;
  readonly #held = new Map<string, ResourceSet>();
  #clusters: NameSet = nameSet([]);

  constructor(source: CoreSource, index: number, namespace: string) {
    this.#session = source.open({ proxy: proxyOf(index, namespace), identities: [] }, () => undefined);
  }

  /** Selects, builds and encodes stale resources again. */
  readAll(): void {
    const clustersBefore = this.#held.get(typeUrl.cluster);
    const clusters = this.#read(typeUrl.cluster, undefined);
    // Envoy asks again when clusters come or go, not when they change.
    if (clusters.byName.size !== clustersBefore?.byName.size)
      this.#clusters = nameSet([...clusters.byName.keys()].filter((name) => name.startsWith("outbound|")));
    this.#read(typeUrl.endpoint, this.#clusters);
    this.#read(typeUrl.listener, undefined);
    this.#read(typeUrl.route, routes);
  }

  resources(): readonly Resource[] {
    return [...this.#held.values()].flatMap((set) => [...set.byName.values()]);
  }

  #read(type: string, names: NameSet | undefined): ResourceSet {
    const set = this.#session.resources(type, names);
    if (set === undefined) throw new Error(`${type} is not served`);
    const before = this.#held.get(type);
    if (set !== before && !encodedSets.has(set)) {
      encodedSets.add(set);
      for (const [name, { version, bytes }] of changedSince(before, set))
        if (bytes.length === 0) throw new Error(`${name} ${version} is empty`);
    }
    this.#held.set(type, set);
    return set;
  }
}

function changedSince(before: ResourceSet | undefined, set: ResourceSet) {
  return [...set.byName].filter(([name, { version }]) => before?.byName.get(name)?.version !== version);
}

function proxyOf(index: number, namespace: string): Proxy {
  const address = `10.1.${index >> 8}.${index & 255}`;
  return parseNode({
    id: `sidecar~${address}~p${index}.${namespace}~${namespace}.svc.cluster.local`,
    metadata: {
      NAMESPACE: namespace,
      INSTANCE_IPS: address,
      LABELS: { app: "client" },
      CLUSTER_ID: "Kubernetes",
      ISTIO_VERSION: "1.32.0",
    },
  });
}
