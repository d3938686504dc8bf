/**
 * Gateways of another cluster's Gateway API as ways into its network: services that are not called by name. For sidecars they have addresses,
 * a port and the label of their network, as labelled Services have them; those that take HBONE are for ztunnels, and any with an address may be
 * the waypoint of services and workloads of their cluster. The own cluster's are configuration.
 */
import {
  creationTimeMs,
  type GatewayApiSpec,
  gatewayOfNetwork,
  type KubeObject,
  type Labels,
  type ObjectName,
  ownValue,
  type RemoteGateway,
  type RemoteWaypoint,
  type Service,
  type ServiceKey,
} from "@flotilla/model";
import type { RegistrySettings } from "../settings.ts";
import type { Dirty } from "./apply-object.ts";

/** Stands for a gateway that lies where no control plane can ask; only the configuration's own cluster may have such. */
const remoteClass = "istio-remote";
/** GatewayClass of gateways that terminate tunnels of ztunnels in other networks. */
const eastWestClass = "istio-east-west";
/** HBONE port of gateways. istiod ignores the port of the listener, too. */
const hbonePort = 15008;

interface Change {
  readonly key: ServiceKey;
  readonly service: Service | undefined;
}

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

  /** Of gateways that changed, or of all; removed ones as undefined. @param network of the cluster */
  changes({ gateways, everything }: Pick<Dirty, "gateways" | "everything">, network: string): readonly Change[] {
    const names = everything ? new Set([...this.#gateways.keys(), ...gateways]) : gateways;
    return [...names].flatMap((name) => this.#values(name, network));
  }

  #values(name: ObjectName, network: string): readonly Change[] {
    const now = this.#gateways.get(name) ?? [];
    const hosts = new Set(now.map(({ hostname }) => hostname));
    const gone = (this.#left.get(name) ?? []).filter(({ hostname }) => !hosts.has(hostname));
    this.#left.delete(name);
    return [
      ...gone.map((service) => ({ key: this.#key(service), service: undefined })),
      ...now.map((service) => ({ key: this.#key(service), service: inNetwork(service, network) })),
    ];
  }

  #key({ namespace, hostname, name }: Service): ServiceKey {
    return { shard: `Kubernetes/${this.#settings.clusterId}`, namespace, hostname, name };
  }
}

function inNetwork(service: Service, network: string): Service {
  return service.waypoint === undefined ? service : { ...service, waypoint: { ...service.waypoint, network } };
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
  if (!ambient) return services;
  const hboneGateway = hboneGatewayOf(gateway);
  const waypoint = waypointOf(gateway);
  const forTunnels = (use: string) => ({
    ...placeless(gateway, clusterId, hbonePort),
    hostname: `${name}-${use}.${namespace}.gateway`,
    name: `Gateway/${name}/${use}`,
    labels: {},
  });
  return [
    ...services,
    ...(hboneGateway === undefined ? [] : [{ ...forTunnels("hbone"), hboneGateway }]),
    ...(waypoint === undefined ? [] : [{ ...forTunnels("waypoint"), waypoint }]),
  ];
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

const waypointLabels = ["istio.io/waypoint-for"];
const waypointAnnotations = ["ambient.istio.io/waypoint-inbound-binding"];

/** As in istiod, any Gateway with an address. Source: scenario ambient/joined-waypoints. */
function waypointOf({ metadata, spec, status }: KubeObject): RemoteWaypoint | undefined {
  const { gatewayClassName: gatewayClass = "", listeners = [] } = (spec ?? {}) as Pick<
    GatewayApiSpec,
    "gatewayClassName"
  > &
    Partial<Pick<RemoteWaypoint, "listeners">>;
  const addresses = usableAddresses(status);
  if (addresses.length === 0) return undefined;
  return {
    // Known once it is published: namespaces may be read later.
    network: "",
    gatewayClass,
    labels: picked(metadata.labels, waypointLabels),
    annotations: picked(metadata.annotations, waypointAnnotations),
    listeners: listeners.map(({ port, protocol, allowedRoutes }) => ({
      ...(port === undefined ? {} : { port }),
      ...(protocol === undefined ? {} : { protocol }),
      ...(allowedRoutes?.namespaces === undefined ? {} : { allowedRoutes: { namespaces: allowedRoutes.namespaces } }),
    })),
    addresses,
  };
}

function picked(values: Labels | undefined, keys: readonly string[]): Labels {
  const found = keys.map((key) => [key, ownValue(values, key)] as const);
  return Object.fromEntries(found.flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])));
}

function usableAddresses(status: unknown): RemoteWaypoint["addresses"] {
  const { addresses = [] } = (status ?? {}) as Pick<GatewayApiSpec, "addresses">;
  return addresses.flatMap(({ type = "IPAddress", value = "" }) =>
    value !== "" && (type === "IPAddress" || type === "Hostname") ? [{ type, value }] : [],
  );
}

/** Source: scenario ambient/clusters. */
function hboneGatewayOf({ metadata, spec, status }: KubeObject): RemoteGateway | undefined {
  const { gatewayClassName, listeners = [] } = (spec ?? {}) as GatewayApiSpec;
  const network = ownValue(metadata.labels, "topology.istio.io/network") ?? "";
  const endsTunnels = listeners.some(({ protocol, tls }) => protocol === "HBONE" && tls?.mode === "Terminate");
  const usable = usableAddresses(status).map(({ value }) => value);
  if (gatewayClassName !== eastWestClass || network === "" || !endsTunnels || usable.length === 0) return undefined;
  const serviceAccount = ownValue(metadata.annotations, "gateway.istio.io/service-account") ?? metadata.name;
  return { network, addresses: usable, serviceAccount };
}
