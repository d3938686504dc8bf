/** The inputs of deployments for Gateways, followed in a cluster. */
import type { KubeGateway } from "@flotilla/injection";
import { type ConfigMap, follow, type KubeApi, type KubeObject } from "@flotilla/kube-api";
import { equalJson } from "@flotilla/model";
import { type Logger, Wakeup } from "@flotilla/runtime";

export type GatewayObject = KubeObject & KubeGateway;

interface GatewayClass extends KubeObject {
  readonly spec: { readonly controllerName: string };
}

export interface ListenerSet extends KubeObject {
  readonly spec: {
    readonly parentRef: { readonly name: string; readonly namespace?: string };
    readonly listeners?: readonly { readonly name?: string; readonly port: number; readonly protocol: string }[];
  };
}

export interface ClusterStateOptions {
  readonly api: KubeApi;
  /** Of the control plane, where defaults of classes are. */
  readonly namespace: string;
  readonly log: Logger;
  readonly random: () => number;
}

const classDefaultsLabel = "gateway.istio.io/defaults-for-class";
const gatewayApi = "/apis/gateway.networking.k8s.io/v1";

export class ClusterState {
  readonly #options: ClusterStateOptions;
  readonly changes = new Wakeup();
  #gateways: readonly GatewayObject[] | undefined;
  #classes: ReadonlyMap<string, GatewayClass> | undefined;
  #listenerSets: readonly ListenerSet[] | undefined;
  #namespaces: ReadonlyMap<string, KubeObject> | undefined;
  #classDefaults: readonly ConfigMap[] | undefined;

  constructor(options: ClusterStateOptions) {
    this.#options = options;
  }

  /** Everything has been listed. */
  get isKnown(): boolean {
    const parts = [this.#gateways, this.#classes, this.#listenerSets, this.#namespaces, this.#classDefaults];
    return parts.every((part) => part !== undefined);
  }

  get gateways(): readonly GatewayObject[] {
    return this.#gateways ?? [];
  }

  get listenerSets(): readonly ListenerSet[] {
    return this.#listenerSets ?? [];
  }

  /** Undefined: there is no such GatewayClass. */
  controllerOf(className: string): string | undefined {
    return this.#classes?.get(className)?.spec.controllerName;
  }

  namespace(name: string): KubeObject | undefined {
    return this.#namespaces?.get(name);
  }

  /** Of several ConfigMaps with the defaults of a class the oldest counts. */
  defaultsOf(className: string): ConfigMap | undefined {
    const ageOf = ({ metadata }: ConfigMap) =>
      Date.parse(String((metadata as { creationTimestamp?: string }).creationTimestamp));
    return this.#classDefaults
      ?.filter(({ metadata }) => metadata.labels?.[classDefaultsLabel] === className)
      .sort((a, b) => ageOf(a) - ageOf(b))
      .at(0);
  }

  /** Runs until `stop` fires. */
  async run(stop: AbortSignal): Promise<void> {
    const own = `/api/v1/namespaces/${encodeURIComponent(this.#options.namespace)}`;
    await Promise.all([
      this.#follow<GatewayObject>(`${gatewayApi}/gateways`, stop, (all) => {
        const known = new Map(this.gateways.map((gateway) => [nameOf(gateway), gateway]));
        this.#gateways = all.map((gateway) => sameOrLater(known.get(nameOf(gateway)), gateway));
      }),
      this.#follow<GatewayClass>(`${gatewayApi}/gatewayclasses`, stop, (all) => {
        this.#classes = byName(all);
      }),
      this.#follow<ListenerSet>(`${gatewayApi}/listenersets`, stop, (all) => {
        this.#listenerSets = all;
      }),
      this.#follow<KubeObject>("/api/v1/namespaces", stop, (all) => {
        this.#namespaces = byName(all);
      }),
      this.#follow<ConfigMap>(
        `${own}/configmaps?labelSelector=${encodeURIComponent(classDefaultsLabel)}`,
        stop,
        (all) => {
          this.#classDefaults = all;
        },
      ),
    ]);
  }

  async #follow<T extends KubeObject>(
    path: string,
    stop: AbortSignal,
    take: (all: readonly T[]) => void,
  ): Promise<void> {
    const { api, log, random } = this.#options;
    for await (const all of follow<T>(api, path, { log, random, mayBeAbsent: true }, stop)) {
      take(all);
      this.changes.wake();
    }
  }
}

function nameOf({ metadata: { namespace, name } }: GatewayObject): string {
  return `${namespace}/${name}`;
}

/** The same object while nothing but its status changes, which it does with each route that attaches: it is not rendered again. */
function sameOrLater(before: GatewayObject | undefined, after: GatewayObject): GatewayObject {
  const written = ({ metadata, spec }: GatewayObject) => {
    const { resourceVersion: _, managedFields: __, ...kept } = metadata as Record<string, unknown>;
    return { metadata: kept, spec };
  };
  return before !== undefined && equalJson(written(before), written(after)) ? before : after;
}

function byName<T extends KubeObject>(all: readonly T[]): ReadonlyMap<string, T> {
  return new Map(all.map((object) => [object.metadata.name ?? "", object]));
}
