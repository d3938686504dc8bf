/**
 * Gateways of another cluster's Gateway API as ways into its network: services that are not called by name. For sidecars they have addresses,
 * a port and the label of their network, as labelled Services have them; those that take HBONE are for ztunnels, and any with an address may be
 * the waypoint of services and workloads of their cluster. The own cluster's are configuration.
 */
import {
  creationTimeMs,
  type GatewayAddresses,
  type GatewayApiSpec,
  gatewayAddresses,
  gatewayOfNetwork,
  hbonePort,
  type KubeObject,
  type Labels,
  type ObjectName,
  ownValue,
  type RemoteGateway,
  type RemoteWaypoint,
  remoteGatewayHost,
  type Service,
  type ServiceKey,
} from "@flotilla/model";
import type { RegistrySettings } from "../settings.ts";
import type { Dirty } from "./apply-object.ts";
import { setOrDelete } from "./objects.ts";

/** Stands for a gateway that lies where no control plane can ask; only the configuration's own cluster may have such. */
const remoteClass = "istio-remote";
/** GatewayClass of gateways that terminate tunnels of ztunnels in other networks. */
const eastWestClass = "istio-east-west";

interface Change {
  readonly key: ServiceKey;
  readonly service: Service | undefined;
}

/** The gateways that lead into other networks. */
export class GatewaySide {
  readonly #settings: Pick<RegistrySettings, "clusterId" | "ambient">;
  readonly #gateways = new Map<ObjectName, KubeObject>();
  /** Services that were published, by the name of their Gateway. */
  readonly #services = new Map<ObjectName, readonly Service[]>();

  constructor(settings: Pick<RegistrySettings, "clusterId" | "ambient">) {
    this.#settings = settings;
  }

  /** @param gateway undefined: deleted */
  apply(name: ObjectName, gateway: KubeObject | undefined, dirty: Dirty): void {
    setOrDelete(this.#gateways, name, gateway);
    dirty.gateways.add(name);
  }

  /** Gateways that changed, or all. */
  concerned({ gateways, everything }: Pick<Dirty, "gateways" | "everything">): ReadonlySet<ObjectName> {
    return everything ? new Set([...this.#gateways.keys(), ...gateways]) : gateways;
  }

  /** Removed services are undefined. @param network of the cluster */
  changesOf(name: ObjectName, network: string): readonly Change[] {
    const gateway = this.#gateways.get(name);
    const before = this.#services.get(name) ?? [];
    const now = gateway === undefined ? [] : gatewayServices(gateway, this.#settings, network);
    setOrDelete(this.#services, name, now.length === 0 ? undefined : now);
    const hosts = new Set(now.map(({ hostname }) => hostname));
    return [
      ...before
        .filter(({ hostname }) => !hosts.has(hostname))
        .map((service) => ({ key: this.#key(service), service: undefined })),
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
  network: string,
): readonly Service[] {
  const { name, namespace = "", labels = {} } = gateway.metadata;
  const spec = (gateway["spec"] ?? {}) as GatewayApiSpec;
  const found = spec.gatewayClassName === remoteClass ? undefined : gatewayOfNetwork(labels, spec);
  const services = (found?.ports ?? []).map((port) => ({
    ...placeless(gateway, clusterId, port),
    hostname: remoteGatewayHost({ namespace, name }, port),
    name: `Gateway/${name}/${port}`,
    labels: { ...labels, "networking.istio.io/gatewayPort": String(port) },
    clusterExternalAddresses: { [clusterId]: found?.addresses ?? [] },
  }));
  if (!ambient) return services;
  const hboneGateway = hboneGatewayOf(gateway);
  const waypoint = waypointOf(gateway, network);
  const forTunnels = (use: "hbone" | "waypoint") => ({
    // istiod ignores the port of the listener, too.
    ...placeless(gateway, clusterId, hbonePort),
    hostname: remoteGatewayHost({ namespace, name }, use),
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
function waypointOf({ metadata, spec, status }: KubeObject, network: string): RemoteWaypoint | undefined {
  const { gatewayClassName: gatewayClass = "", listeners = [] } = (spec ?? {}) as Pick<
    GatewayApiSpec,
    "gatewayClassName"
  > &
    Partial<Pick<RemoteWaypoint, "listeners">>;
  const addresses = gatewayAddresses((status ?? {}) as GatewayAddresses);
  if (addresses.length === 0) return undefined;
  return {
    network,
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

/** Source: scenario ambient/clusters. */
function hboneGatewayOf({ metadata, spec, status }: KubeObject): RemoteGateway | undefined {
  const { gatewayClassName, listeners = [] } = (spec ?? {}) as GatewayApiSpec;
  const network = ownValue(metadata.labels, "topology.istio.io/network") ?? "";
  const endsTunnels = listeners.some(({ protocol, tls }) => protocol === "HBONE" && tls?.mode === "Terminate");
  const usable = gatewayAddresses((status ?? {}) as GatewayAddresses).map(({ value }) => value);
  if (gatewayClassName !== eastWestClass || network === "" || !endsTunnels || usable.length === 0) return undefined;
  const serviceAccount = ownValue(metadata.annotations, "gateway.istio.io/service-account") ?? metadata.name;
  return { network, addresses: usable, serviceAccount };
}
