/** Objects of a cluster that one set of credentials can read: each kind as it changes, and how far it has been read. */
import { type KubeApi, mirror } from "@flotilla/kube-api";
import { type KubeObject, objectNameOf } from "@flotilla/model";
import { multiClusterGroup } from "@flotilla/registry";

export interface FollowedKind {
  readonly kind: string;
  readonly path: string;
  /** The API server may not serve it. */
  readonly mayBeAbsent?: boolean;
  /** Where it may not be read the cluster goes without. */
  readonly mayBeRefused?: boolean;
  /** The registry's version of it, where API servers may have it under another. */
  readonly apiVersion?: string;
  /** Objects labelled with another revision than this one are not read. */
  readonly revision?: string;
}

const pathOfKind: Readonly<Record<string, string>> = {
  Service: "/api/v1/services",
  EndpointSlice: "/apis/discovery.k8s.io/v1/endpointslices",
  Pod: "/api/v1/pods",
  Node: "/api/v1/nodes",
  Namespace: "/api/v1/namespaces",
};
export const usualKinds: readonly FollowedKind[] = Object.entries(pathOfKind).map(([kind, path]) => ({ kind, path }));
/** In place of EndpointSlices, for API servers that do not make them of every Endpoints object. */
const endpoints: FollowedKind = { kind: "Endpoints", path: "/api/v1/endpoints" };
export const kindsWithEndpoints: readonly FollowedKind[] = usualKinds.map((one) =>
  one.kind === "EndpointSlice" ? endpoints : one,
);
/** API group and version of ServiceExports and ServiceImports. */
export interface MultiClusterApi {
  readonly group: string;
  readonly version: string;
}

export const usualMultiClusterApi: MultiClusterApi = { group: multiClusterGroup, version: "v1alpha1" };

/** Source: Kubernetes' multi-cluster services API. */
export function multiClusterKind(
  kind: "ServiceExport" | "ServiceImport",
  { group, version }: MultiClusterApi,
): FollowedKind {
  const path = `/apis/${group}/${version}/${kind.toLowerCase()}s`;
  return { kind, path, mayBeAbsent: true, apiVersion: `${multiClusterGroup}/${version}` };
}

/** Ways into the network of another cluster; not every account that was made for us may read them. */
export const gatewayApiGateways: FollowedKind = {
  kind: "Gateway",
  path: "/apis/gateway.networking.k8s.io/v1/gateways",
  mayBeAbsent: true,
  mayBeRefused: true,
};

/** WorkloadEntries of another cluster. Source: istiod reads those of its revision. */
export function workloadEntries(revision: string): FollowedKind {
  const path = "/apis/networking.istio.io/v1/workloadentries";
  return { kind: "WorkloadEntry", path, mayBeAbsent: true, mayBeRefused: true, revision };
}

const ofWholeCluster: ReadonlySet<string> = new Set(["Node", "Namespace"]);

/** The same kind of one namespace only; kinds that belong to none as they are. */
export function inNamespace({ path, ...one }: FollowedKind, namespace: string): FollowedKind {
  if (ofWholeCluster.has(one.kind)) return { ...one, path };
  const at = path.lastIndexOf("/");
  return { ...one, path: `${path.slice(0, at)}/namespaces/${namespace}${path.slice(at)}` };
}

/** A kind → the version up to which it is known; a kind whose versions are no numbers has none. */
export type Positions = Map<string, bigint>;

export interface ClusterConnectionOptions {
  readonly api: KubeApi;
  readonly kinds: readonly FollowedKind[];
  readonly random: () => number;
  /** Something was read: `objects` is a whole kind, `object` a change of it. */
  readonly onEvent: (connection: ClusterConnection, event: ClusterEvent) => void;
  readonly onState: (connection: ClusterConnection) => void;
  /** Our own fault. */
  readonly onFailure: (cause: unknown) => void;
}

export type ClusterEvent =
  | { readonly kind: string; readonly type: "list"; readonly objects: readonly KubeObject[] }
  | { readonly kind: string; readonly type: "put" | "delete"; readonly object: KubeObject };

export class ClusterConnection {
  readonly api: KubeApi;
  /** A kind → why it cannot be followed now. */
  readonly failures = new Map<string, string>();
  /** A kind that may be refused → how it is. */
  readonly refusals = new Map<string, string>();
  readonly positions: Positions = new Map();
  readonly #options: ClusterConnectionOptions;
  readonly #stop = new AbortController();
  readonly #done: Promise<void>;
  /** A kind → name → object, for as long as somebody else is in force. */
  readonly #kept = new Map<string, Map<string, KubeObject>>();

  constructor(options: ClusterConnectionOptions) {
    this.#options = options;
    this.api = options.api;
    this.#done = Promise.all(options.kinds.map((kind) => this.#follow(kind))).then(() => undefined, options.onFailure);
  }

  /** Everything is known here that is known by `positions`. */
  hasReached(positions: Positions): boolean {
    return [...positions].every(([kind, position]) => {
      const own = this.positions.get(kind);
      return own === undefined || own >= position;
    });
  }

  /** Every kind was listed. */
  get isComplete(): boolean {
    return this.#kept.size === this.#options.kinds.length;
  }

  keep(event: ClusterEvent): void {
    if (event.type === "list") {
      this.#kept.set(event.kind, new Map(event.objects.map((object) => [objectNameOf(object), object])));
      return;
    }
    const objects = this.#kept.get(event.kind);
    if (event.type === "put") objects?.set(objectNameOf(event.object), event.object);
    else objects?.delete(objectNameOf(event.object));
  }

  /** Returns the kept objects, and drops them here. */
  release(): readonly ClusterEvent[] {
    const events = [...this.#kept].map(([kind, objects]) => ({
      kind,
      type: "list" as const,
      objects: [...objects.values()],
    }));
    this.#kept.clear();
    return events;
  }

  /** Nothing is yielded after this. Resolves when its sockets are gone. */
  async end(): Promise<void> {
    this.#stop.abort();
    await this.#done;
    this.api[Symbol.dispose]();
  }

  async #follow({ kind, path, mayBeAbsent = false, mayBeRefused = false }: FollowedKind): Promise<void> {
    const { random, onEvent, onState: report } = this.#options;
    let isListed = false;
    const onState = (failure: string | undefined, status?: number) => {
      if (this.#stop.signal.aborted) return;
      const isRefused = mayBeRefused && status === 403;
      if (isRefused && !isListed) onEvent(this, { kind, type: "list", objects: [] });
      isListed ||= isRefused;
      note(this.refusals, kind, isRefused ? failure : undefined);
      note(this.failures, kind, isRefused ? undefined : failure);
      report(this);
    };
    const options = { path, mayBeAbsent, random, onState };
    for await (const event of mirror<KubeObject>(this.api, options, this.#stop.signal)) {
      isListed = true;
      const version = event.type === "list" ? event.version : event.object.metadata.resourceVersion;
      if (version !== undefined && /^\d+$/.test(version)) this.positions.set(kind, BigInt(version));
      // Lines of a watch hold their kind only where the request asks for it.
      onEvent(this, event.type === "list" ? { kind, ...event } : { ...event, kind, object: { ...event.object, kind } });
    }
  }
}

function note(reasons: Map<string, string>, kind: string, reason: string | undefined): void {
  if (reason === undefined) reasons.delete(kind);
  else reasons.set(kind, reason);
}
