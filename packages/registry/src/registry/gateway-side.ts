/**
 * Gateways of another cluster's Gateway API as ways into its network: services that are not called by name. For sidecars they have addresses,
 * a port and the label of their network, as labelled Services have them; those that take HBONE are for ztunnels. The own cluster's are
 * configuration.
 */
import {
  creationTimeMs,
  type GatewayApiSpec,
  gatewayOfNetwork,
  type KubeObject,
  type ObjectName,
  ownValue,
  type RemoteGateway,
  type Service,
  type ServiceKey,
} from "@flotilla/model";
import type { RegistrySettings } from "../settings.ts";

/** Stands for a gateway that lies where no control plane can ask; only the configuration's own cluster may have such. */
const remoteClass = "istio-remote";
/** GatewayClass of gateways that terminate tunnels of ztunnels in other networks. */
const eastWestClass = "istio-east-west";
/** HBONE port of gateways. istiod ignores the port of the listener, too. */
const hbonePort = 15008;

/** The gateways that lead into other networks. */
export class GatewaySide {
  readonly #settings: Pick<RegistrySettings, "clusterId" | "ambient">;
  readonly #gateways = new Map<ObjectName, readonly Service[]>();
  /** Those before, of gateways that changed. */
  readonly #left = new Map<ObjectName, readonly Service[]>();

  constructor(settings: Pick<RegistrySettings, "clusterId" | "ambient">) {
    this.#settings = settings;
  }

  setGateway(name: ObjectName, gateway: KubeObject | undefined): void {
    const before = this.#gateways.get(name);
    if (before !== undefined && !this.#left.has(name)) this.#left.set(name, before);
    const services = gateway === undefined ? [] : gatewayServices(gateway, this.#settings);
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
    return { shard: `Kubernetes/${this.#settings.clusterId}`, namespace, hostname, name };
  }
}

function gatewayServices(
  gateway: KubeObject,
  { clusterId, ambient }: Pick<RegistrySettings, "clusterId" | "ambient">,
): readonly Service[] {
  const { name, namespace = "", labels = {} } = gateway.metadata;
  const spec = (gateway["spec"] ?? {}) as GatewayApiSpec;
  const found = spec.gatewayClassName === remoteClass ? undefined : gatewayOfNetwork(labels, spec);
  const services = (found?.ports ?? []).map((port) => ({
    ...placeless(gateway, clusterId, port),
    hostname: `${name}-${port}.${namespace}.gateway`,
    name: `Gateway/${name}/${port}`,
    labels: { ...labels, "networking.istio.io/gatewayPort": String(port) },
    clusterExternalAddresses: { [clusterId]: found?.addresses ?? [] },
  }));
  const hboneGateway = ambient ? hboneGatewayOf(gateway) : undefined;
  if (hboneGateway === undefined) return services;
  const forTunnels = {
    ...placeless(gateway, clusterId, hbonePort),
    hostname: `${name}-hbone.${namespace}.gateway`,
    name: `Gateway/${name}/hbone`,
    labels: {},
    hboneGateway,
  };
  return [...services, forTunnels];
}

/** Common fields of services that are not called by name. */
function placeless(gateway: KubeObject, clusterId: string, port: number) {
  const { name, namespace = "" } = gateway.metadata;
  return {
    namespace,
    registry: "Kubernetes",
    ports: [{ name: "tls", number: port, protocol: "TLS" }],
    resolution: "client-side",
    meshExternal: false,
    defaultAddress: "0.0.0.0",
    clusterVips: { [clusterId]: ["0.0.0.0"] },
    creationTimeMs: creationTimeMs(gateway),
    exportTo: ["~"],
    serviceAccounts: [],
    definedBy: `Gateway/${namespace}/${name}`,
  } as const;
}

/** Source: scenario ambient/clusters. */
function hboneGatewayOf({ metadata, spec, status }: KubeObject): RemoteGateway | undefined {
  const { gatewayClassName, listeners = [] } = (spec ?? {}) as GatewayApiSpec;
  const network = ownValue(metadata.labels, "topology.istio.io/network") ?? "";
  const endsTunnels = listeners.some(({ protocol, tls }) => protocol === "HBONE" && tls?.mode === "Terminate");
  const { addresses = [] } = (status ?? {}) as Pick<GatewayApiSpec, "addresses">;
  const usable = addresses.flatMap(({ type = "IPAddress", value = "" }) =>
    value !== "" && (type === "IPAddress" || type === "Hostname") ? [value] : [],
  );
  if (gatewayClassName !== eastWestClass || network === "" || !endsTunnels || usable.length === 0) return undefined;
  const serviceAccount = ownValue(metadata.annotations, "gateway.istio.io/service-account") ?? metadata.name;
  return { network, addresses: usable, serviceAccount };
}
