/** The clusters towards the workload behind a sidecar, one a port. */
import { isHttp2 } from "@flotilla/model";
import { create, type Duration } from "@flotilla/proto";
import {
  type Cluster,
  ClusterSchema,
  Cluster_DiscoveryType as Discovery,
  Cluster_LbPolicy as LbPolicy,
} from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import { sidecarOf } from "../../snapshot/scope/sidecar.ts";
import { query, type View } from "../../snapshot/view.ts";
import { type InboundPort, inboundPorts } from "../lds/inbound/inbound-ports.ts";
import { pipeAddress, socketAddress } from "../shared/address.ts";
import { circuitBreakers, clusterMetadata, http2Options, httpOptionsKey, type ServiceLabel } from "./cluster-parts.ts";

export interface InboundClusterInputs {
  readonly kind: "inbound";
  readonly name: string;
  readonly port: InboundPort;
  readonly connectTimeout: Duration | undefined;
  readonly services: readonly ServiceLabel[];
  /** Where the Sidecar says that the workload listens; empty: where the connection was going. */
  readonly endpoint: string;
  readonly sourceAddress: string;
}

export const inboundClusterNames = query<readonly string[]>("inbound-cluster-names", (view) =>
  view.read(inboundPorts).map(({ port }) => `inbound|${port}||`),
);

/** The services that share a workload port, by name. */
const servicesOfPort = query<readonly ServiceLabel[], number>(
  "services-of-port",
  (view, targetPort) =>
    view.proxy.targets
      .filter((target) => target.targetPort === targetPort)
      .map(({ namespace, hostname }) => {
        const service = [...view.serviceShards({ namespace, hostname }).values()][0];
        return { hostname, namespace, name: service?.name ?? "" };
      }),
  (a, b) => JSON.stringify(a) === JSON.stringify(b),
);

export function selectInboundCluster(view: View, name: string): InboundClusterInputs | undefined {
  const port = view.read(inboundPorts).find((one) => `inbound|${one.port}||` === name);
  if (port === undefined) return undefined;
  const ingress =
    port.origin === undefined
      ? undefined
      : view.read(sidecarOf)?.spec.ingress.find((one) => one.port?.number === port.port);
  return {
    kind: "inbound",
    name,
    port,
    connectTimeout: view.mesh.connectTimeout,
    services: ingress === undefined ? view.read(servicesOfPort, port.port) : noServices,
    endpoint: ingress?.defaultEndpoint ?? "",
    sourceAddress: view.proxy.ipMode === "ipv6" ? "::6" : "127.0.0.6",
  };
}

const noServices: readonly ServiceLabel[] = [];

export function buildInboundCluster({
  name,
  port,
  connectTimeout,
  services,
  endpoint,
  sourceAddress,
}: InboundClusterInputs): Cluster {
  return create(ClusterSchema, {
    name,
    altStatName: `${name};`,
    connectTimeout: connectTimeout ?? { seconds: 10n, nanos: 0 },
    circuitBreakers: circuitBreakers(),
    commonLbConfig: {},
    ...(services.length > 0 && { metadata: clusterMetadata(services) }),
    ...(isHttp2(port.protocol) && { typedExtensionProtocolOptions: { [httpOptionsKey]: http2Options } }),
    ...(endpoint === "" ? originalDestination(sourceAddress) : staticEndpoint(name, endpoint)),
  });
}

function originalDestination(address: string) {
  return {
    clusterDiscoveryType: { case: "type" as const, value: Discovery.ORIGINAL_DST },
    lbPolicy: LbPolicy.CLUSTER_PROVIDED,
    // Each destination is the workload itself: there is nothing to clean up.
    cleanupInterval: { seconds: 9223372035n, nanos: 0 },
    upstreamBindConfig: { sourceAddress: { address, portSpecifier: { case: "portValue" as const, value: 0 } } },
  };
}

function staticEndpoint(clusterName: string, endpoint: string) {
  const address = endpoint.startsWith("unix://")
    ? pipeAddress(endpoint.slice("unix://".length))
    : hostAndPort(endpoint);
  return {
    clusterDiscoveryType: { case: "type" as const, value: Discovery.STATIC },
    loadAssignment: {
      clusterName,
      endpoints: [{ lbEndpoints: [{ hostIdentifier: { case: "endpoint" as const, value: { address } } }] }],
    },
  };
}

function hostAndPort(text: string) {
  const colon = text.lastIndexOf(":");
  return socketAddress(text.slice(0, colon).replace(/^\[(.*)\]$/, "$1"), Number(text.slice(colon + 1)));
}
