/**
 * Writes into the status of every Ingress that the mesh serves the addresses it is served at: those of the gateway's Service, or of the
 * nodes of its pods where MeshConfig names no Service.
 */
import { gatewayLabel, type IngressSettings } from "@flotilla/gateway-api";
import {
  follow,
  type Ingress,
  type IngressClass,
  type KubeApi,
  KubeError,
  type KubeObject,
  type Node,
  type Pod,
  type Service,
} from "@flotilla/kube-api";
import { aborted, type Logger, Wakeup } from "@flotilla/runtime";
import {
  addressesOf,
  isPublishedAlready,
  isServed,
  type LoadBalancerAddress,
  nodeAddressesOf,
} from "./ingress-rules.ts";

export interface IngressStatusOptions {
  readonly api: KubeApi;
  /** Of the gateway. */
  readonly namespace: string;
  /** MeshConfig as it is now; undefined while it is not known. */
  readonly mesh: () => IngressSettings | undefined;
  readonly log: Logger;
  readonly random: () => number;
}

const root = "/apis/networking.k8s.io/v1";
/** Changes of MeshConfig cause no event here: it is read again after this. */
const againMs = 2_000;

export class IngressStatus {
  readonly #options: IngressStatusOptions;
  readonly #wakeup = new Wakeup();
  #ingresses: readonly Ingress[] | undefined;
  #classes: ReadonlyMap<string, IngressClass> | undefined;
  #services: ReadonlyMap<string, Service> | undefined;
  /** Pods and nodes are followed from the first time that MeshConfig names no Service. */
  readonly #withoutService = Promise.withResolvers<void>();
  #pods: readonly Pod[] | undefined;
  #nodes: ReadonlyMap<string, Node> | undefined;

  constructor(options: IngressStatusOptions) {
    this.#options = options;
  }

  /** Runs until `stop` fires. */
  async run(stop: AbortSignal): Promise<void> {
    const home = `/api/v1/namespaces/${encodeURIComponent(this.#options.namespace)}`;
    await Promise.all([
      this.#follow<Ingress>(`${root}/ingresses`, stop, (all) => {
        this.#ingresses = all;
      }),
      this.#follow<IngressClass>(`${root}/ingressclasses`, stop, (all) => {
        this.#classes = byName(all);
      }),
      this.#follow<Service>(`${home}/services`, stop, (all) => {
        this.#services = byName(all);
      }),
      this.#followNodes(`${home}/pods?labelSelector=istio`, stop),
      this.#write(stop),
    ]);
  }

  async #followNodes(pods: string, stop: AbortSignal): Promise<void> {
    await Promise.race([this.#withoutService.promise, aborted(stop)]);
    if (stop.aborted) return;
    await Promise.all([
      this.#follow<Pod>(pods, stop, (all) => {
        this.#pods = all;
      }),
      this.#follow<Node>("/api/v1/nodes", stop, (all) => {
        this.#nodes = byName(all);
      }),
    ]);
  }

  async #follow<T extends KubeObject>(path: string, stop: AbortSignal, take: (all: readonly T[]) => void) {
    for await (const all of follow<T>(this.#options.api, path, this.#options, stop)) {
      take(all);
      this.#wakeup.wake();
    }
  }

  async #write(stop: AbortSignal): Promise<void> {
    const { log } = this.#options;
    while (!stop.aborted) {
      await this.#wakeup.waitShared(stop, againMs);
      for (const { ingress, status } of this.#behind()) {
        if (stop.aborted) return;
        const { namespace, name } = ingress.metadata;
        try {
          const path = `${root}/namespaces/${namespace}/ingresses/${name}/status`;
          await this.#options.api.replace(path, { ...ingress, status });
          log.info("addresses of an ingress written", { namespace, name });
        } catch (error) {
          if (!(error instanceof KubeError)) throw error;
          // Changed or deleted meanwhile: the object is processed again.
          log.debug("the status of an ingress is not written", { namespace, name, reason: error.message });
        }
      }
    }
  }

  #behind(): readonly { readonly ingress: Ingress; readonly status: unknown }[] {
    const mesh = this.#options.mesh();
    const [ingresses, classes] = [this.#ingresses, this.#classes];
    if (mesh === undefined || ingresses === undefined || classes === undefined) return [];
    const addresses = this.#addresses(mesh);
    if (addresses === undefined) return [];
    return ingresses
      .filter((ingress) => isServed(ingress, classes, mesh) && !isPublishedAlready(ingress, addresses))
      .map((ingress) => ({ ingress, status: { ...ingress.status, loadBalancer: { ingress: addresses } } }));
  }

  /** Undefined: without a gateway nothing is written, and the status stays, as the gateway may still arrive. */
  #addresses(mesh: IngressSettings): readonly LoadBalancerAddress[] | undefined {
    const { ingressService = "" } = mesh;
    if (ingressService !== "") {
      const service = this.#services?.get(ingressService);
      return service && addressesOf(service);
    }
    this.#withoutService.resolve();
    if (this.#pods === undefined || this.#nodes === undefined) return undefined;
    const addresses = nodeAddressesOf(this.#pods, this.#nodes, gatewayLabel(mesh));
    return addresses.length === 0 ? undefined : addresses;
  }
}

function byName<T extends KubeObject>(all: readonly T[]): ReadonlyMap<string, T> {
  return new Map(all.map((object) => [object.metadata.name ?? "", object]));
}
