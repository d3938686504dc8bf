/** The objects of a cluster that bindings to waypoints and policies of the ambient mesh depend on, followed. */
import { follow, type KubeApi, type KubeObject } from "@flotilla/kube-api";
import { type Logger, Wakeup } from "@flotilla/runtime";

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
  readonly observedGeneration?: number;
}

export interface ClusterObject extends KubeObject {
  readonly metadata: KubeObject["metadata"] & { readonly generation?: number; readonly creationTimestamp?: string };
  readonly spec?: object;
  readonly status?: { readonly conditions?: readonly Condition[] };
}

const paths = {
  services: "/api/v1/services",
  entries: "/apis/networking.istio.io/v1/serviceentries",
  workloadEntries: "/apis/networking.istio.io/v1/workloadentries",
  policies: "/apis/security.istio.io/v1/authorizationpolicies",
  gateways: "/apis/gateway.networking.k8s.io/v1/gateways",
  classes: "/apis/gateway.networking.k8s.io/v1/gatewayclasses",
  namespaces: "/api/v1/namespaces",
} as const;

export type Collection = keyof typeof paths;
const collections = Object.keys(paths) as readonly Collection[];

export interface ClusterObjectsOptions {
  readonly api: KubeApi;
  readonly log: Logger;
  readonly random: () => number;
}

export class ClusterObjects {
  readonly changes = new Wakeup();
  readonly #options: ClusterObjectsOptions;
  /** By `namespace/name`, without a namespace by name. */
  readonly #found = new Map<Collection, ReadonlyMap<string, ClusterObject>>();

  constructor(options: ClusterObjectsOptions) {
    this.#options = options;
  }

  /** Everything has been listed. */
  get isKnown(): boolean {
    return this.#found.size === collections.length;
  }

  all(collection: Collection): Iterable<ClusterObject> {
    return this.#found.get(collection)?.values() ?? [];
  }

  get(collection: Collection, key: string): ClusterObject | undefined {
    return this.#found.get(collection)?.get(key);
  }

  /** Runs until `stop` fires. Kinds that the cluster does not serve have no objects. */
  async run(stop: AbortSignal): Promise<void> {
    await Promise.all(collections.map((collection) => this.#follow(collection, stop)));
  }

  async #follow(collection: Collection, stop: AbortSignal): Promise<void> {
    const options = { ...this.#options, mayBeAbsent: true };
    for await (const all of follow<ClusterObject>(this.#options.api, paths[collection], options, stop)) {
      this.#found.set(collection, new Map(all.map((object) => [keyOf(object), object])));
      this.changes.wake();
    }
  }
}

export function keyOf({ metadata: { namespace = "", name = "" } }: KubeObject): string {
  return namespace === "" ? name : `${namespace}/${name}`;
}

/** Where the object is in the API. */
export function pathOf(collection: Collection, { metadata: { namespace = "", name = "" } }: KubeObject): string {
  const path = paths[collection];
  const slash = path.lastIndexOf("/");
  return `${path.slice(0, slash)}/namespaces/${encodeURIComponent(namespace)}${path.slice(slash)}/${encodeURIComponent(name)}`;
}
