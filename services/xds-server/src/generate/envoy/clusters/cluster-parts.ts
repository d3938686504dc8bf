/** Parts that clusters of several kinds have in common. */
import { create, type Duration, type JsonObject } from "@flotilla/proto";
import { type Cluster, Cluster_DiscoveryType, ClusterSchema } from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import { type Filter, FilterSchema } from "@flotilla/proto/envoy/config/cluster/v3/filter_pb";
import { type Metadata, MetadataSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { peerMetadata, withoutDiscovery } from "../hbone/baggage.ts";
import { additionalLabels, istioExtensions, typedStruct } from "../istio-extensions.ts";

/** @param labels that peers exchange beside the usual ones */
export function metadataExchangeFilter(labels: readonly string[]): Filter {
  return labels.length === 0 ? plainExchange : exchangeOf(labels);
}

function exchangeOf(labels: readonly string[]): Filter {
  const value = { enable_discovery: true, protocol: "istio-peer-exchange", ...additionalLabels(labels) };
  const typedConfig = typedStruct(istioExtensions.networkMetadataExchange, value);
  return create(FilterSchema, { name: "istio.metadata_exchange", typedConfig });
}

const plainExchange = exchangeOf([]);

export interface ServiceLabel {
  readonly hostname: string;
  readonly name: string;
  readonly namespace: string;
  readonly registry?: string;
}

export interface MetadataInputs {
  readonly services: readonly ServiceLabel[];
  /** The DestinationRule, as a path of the Kubernetes API. */
  readonly rule?: string | undefined;
  readonly subset?: string;
  /** As `layer` of a cluster's inputs: a waypoint's clusters name it, and their subset after it. */
  readonly layer?: string;
  /** As of a cluster's inputs. */
  readonly isAmbient?: boolean;
  readonly isExternal?: boolean;
  /** The callers' ALPN stays as it is: the rule's TLS is not the mesh's. */
  readonly keepsAlpn?: boolean;
  /** As of transport sockets. */
  readonly hidesPeers?: boolean;
}

/** Names the services behind a cluster, and the rule and subset that made it; nothing where there are none. */
export function clusterMetadata(inputs: MetadataInputs): { metadata?: Metadata } {
  const { services, rule, subset = "", layer = "", isAmbient = false, isExternal = false, keepsAlpn = false } = inputs;
  const istio: JsonObject = {
    ...(services.length > 0 && {
      services: services.map(({ hostname: host, name, namespace, registry }) => ({
        host,
        // A ServiceEntry has a name for all of its hosts; each is a service of its own.
        name: registry === "External" ? host : name,
        namespace,
      })),
    }),
    ...(rule !== undefined && { config: rule }),
    ...(layer !== "" && { subset: subset === "" ? layer : `${layer}/${subset}` }),
    ...(layer === "" && rule !== undefined && subset !== "" && { subset }),
    ...(isExternal && { external: true }),
    ...(keepsAlpn && { alpn_override: "false" }),
    ...(isAmbient && { disable_mx: true }),
  };
  const filterMetadata = {
    ...(Object.keys(istio).length > 0 && { istio }),
    ...(inputs.hidesPeers === true && { [peerMetadata]: withoutDiscovery }),
  };
  return Object.keys(filterMetadata).length === 0 ? {} : { metadata: create(MetadataSchema, { filterMetadata }) };
}

/** Has no endpoint: traffic that is sent to it is refused. */
export function blackHoleCluster(connectTimeout: Duration | undefined): Cluster {
  return create(ClusterSchema, {
    name: "BlackHoleCluster",
    altStatName: "BlackHoleCluster;",
    connectTimeout: connectTimeout ?? { seconds: 10n, nanos: 0 },
    clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.STATIC },
  });
}

/** Where a rule stands in the Kubernetes API. */
export function rulePath({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `/apis/networking.istio.io/v1/namespaces/${namespace}/destination-rule/${name}`;
}

/** The cluster of destinations that have no host: backends of routes that are of an unknown kind. No cluster has the name. */
export const unknownCluster = "UnknownService";
