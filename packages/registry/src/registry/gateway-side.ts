/**
 * Gateways of another cluster's Gateway API as ways into its network: services that are not called by name, with addresses, a port
 * and the label of their network, as labelled Services have them. The own cluster's are configuration.
 */
import {
  creationTimeMs,
  type GatewayApiSpec,
  gatewayOfNetwork,
  type KubeObject,
  type ObjectName,
  type Service,
  type ServiceKey,
} from "@flotilla/model";

/** Stands for a gateway that lies where no control plane can ask; only the configuration's own cluster may have such. */
const remoteClass = "istio-remote";

/** The gateways that lead into other networks. */
export class GatewaySide {
  readonly #cluster: string;
  readonly #gateways = new Map<ObjectName, readonly Service[]>();
  /** Those before, of gateways that changed. */
  readonly #left = new Map<ObjectName, readonly Service[]>();

  constructor(cluster: string) {
    this.#cluster = cluster;
  }

  setGateway(name: ObjectName, gateway: KubeObject | undefined): void {
    const before = this.#gateways.get(name);
    if (before !== undefined && !this.#left.has(name)) this.#left.set(name, before);
    const services = gateway === undefined ? [] : gatewayServices(gateway, this.#cluster);
    if (services.length > 0) this.#gateways.set(name, services);
    else this.#gateways.delete(name);
  }

  /** Of a gateway that changed; removed ones as undefined. */
  values(name: ObjectName): readonly { readonly key: ServiceKey; readonly service: Service | undefined }[] {
    const now = this.#gateways.get(name) ?? [];
    const hosts = new Set(now.map(({ hostname }) => hostname));
    const gone = (this.#left.get(name) ?? []).filter(({ hostname }) => !hosts.has(hostname));
    this.#left.delete(name);
    return [
      ...gone.map((service) => ({ key: this.#key(service), service: undefined })),
      ...now.map((service) => ({ key: this.#key(service), service })),
    ];
  }

  #key({ namespace, hostname, name }: Service): ServiceKey {
    return { shard: `Kubernetes/${this.#cluster}`, namespace, hostname, name };
  }
}

function gatewayServices(gateway: KubeObject, clusterId: string): readonly Service[] {
  const { name, namespace = "", labels = {} } = gateway.metadata;
  const spec = (gateway["spec"] ?? {}) as GatewayApiSpec;
  const found = spec.gatewayClassName === remoteClass ? undefined : gatewayOfNetwork(labels, spec);
  return (found?.ports ?? []).map((port) => ({
    hostname: `${name}-${port}.${namespace}.gateway`,
    namespace,
    name: `Gateway/${name}/${port}`,
    registry: "Kubernetes",
    ports: [{ name: "tls", number: port, protocol: "TLS" }],
    resolution: "client-side",
    meshExternal: false,
    defaultAddress: "0.0.0.0",
    clusterVips: { [clusterId]: ["0.0.0.0"] },
    creationTimeMs: creationTimeMs(gateway),
    labels: { ...labels, "networking.istio.io/gatewayPort": String(port) },
    exportTo: ["~"],
    serviceAccounts: [],
    clusterExternalAddresses: { [clusterId]: found?.addresses ?? [] },
    definedBy: `Gateway/${namespace}/${name}`,
  }));
}
