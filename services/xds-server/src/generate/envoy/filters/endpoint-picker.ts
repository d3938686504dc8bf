/**
 * Endpoint pickers of InferencePools: external processing sees requests and answers and names the endpoint in metadata, which the
 * pool's cluster follows. Source: istiod asked; corpora functions and xds; the Endpoint Picker Protocol.
 */
import type { EndpointPicker } from "@flotilla/gateway-api";
import { clusterName, parseClusterName } from "@flotilla/model";
import { type Any, create, pack } from "@flotilla/proto";
import {
  type Cluster,
  ClusterSchema,
  Cluster_LbPolicy as LbPolicy,
  type LoadBalancingPolicy_Policy,
  LoadBalancingPolicy_PolicySchema,
  LoadBalancingPolicySchema,
} from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import {
  type RouteAction,
  RouteActionSchema,
  WeightedClusterSchema,
} from "@flotilla/proto/envoy/config/route/v3/route_components_pb";
import {
  ExternalProcessorSchema,
  ExtProcPerRouteSchema,
} from "@flotilla/proto/envoy/extensions/filters/http/ext_proc/v3/ext_proc_pb";
import {
  ProcessingMode_BodySendMode as BodyMode,
  ProcessingMode_HeaderSendMode as HeaderMode,
} from "@flotilla/proto/envoy/extensions/filters/http/ext_proc/v3/processing_mode_pb";
import {
  type HttpFilter,
  HttpFilterSchema,
} from "@flotilla/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb";
import { OverrideHostSchema } from "@flotilla/proto/envoy/extensions/load_balancing_policies/override_host/v3/override_host_pb";
import { RoundRobinSchema } from "@flotilla/proto/envoy/extensions/load_balancing_policies/round_robin/v3/round_robin_pb";

export const pickerFilter = "envoy.filters.http.ext_proc";

/** The namespace of metadata that picker and cluster share. */
const metadataNamespace = "envoy.lb";
const pickedKey = "x-gateway-destination-endpoint";
const servedKey = "x-gateway-destination-endpoint-served";

/** Does nothing by itself: routes to pools name their picker. */
export const endpointPicker: HttpFilter = create(HttpFilterSchema, {
  name: pickerFilter,
  configType: {
    case: "typedConfig",
    value: pack(
      ExternalProcessorSchema,
      create(ExternalProcessorSchema, {
        grpcService: {
          targetSpecifier: { case: "envoyGrpc", value: { clusterName: "dummy" } },
          timeout: { seconds: 10n, nanos: 0 },
        },
        failureModeAllow: true,
        processingMode: { requestHeaderMode: HeaderMode.SKIP, responseHeaderMode: HeaderMode.SKIP },
        messageTimeout: { seconds: 1000n, nanos: 0 },
        metadataOptions: {
          receivingNamespaces: { untyped: [metadataNamespace] },
          forwardingNamespaces: { untyped: [metadataNamespace] },
        },
      }),
    ),
  },
});

/** The picker reads the model from the body, and counts from answers. Streamed bodies need trailers, too. */
export function pickerOfRoute({ host, port, failsOpen }: EndpointPicker): Any {
  const value = {
    processingMode: {
      requestHeaderMode: HeaderMode.SEND,
      responseHeaderMode: HeaderMode.SEND,
      requestBodyMode: BodyMode.FULL_DUPLEX_STREAMED,
      responseBodyMode: BodyMode.FULL_DUPLEX_STREAMED,
      requestTrailerMode: HeaderMode.SEND,
      responseTrailerMode: HeaderMode.SEND,
    },
    grpcService: {
      targetSpecifier: {
        case: "envoyGrpc" as const,
        value: { clusterName: clusterName("outbound", port, "", host) },
      },
    },
    failureModeAllow: failsOpen,
  };
  return pack(ExtProcPerRouteSchema, create(ExtProcPerRouteSchema, { override: { case: "overrides", value } }));
}

/** Each pool among weighted back ends has its own picker see its requests. */
export function withPickers(action: RouteAction, pickers: ReadonlyMap<string, EndpointPicker>): RouteAction {
  const { clusterSpecifier } = action;
  if (clusterSpecifier.case !== "weightedClusters") return action;
  const clusters = clusterSpecifier.value.clusters.map((cluster) => {
    const picker = pickers.get(parseClusterName(cluster.name)?.hostname ?? "");
    if (picker === undefined) return cluster;
    return {
      ...cluster,
      typedPerFilterConfig: { ...cluster.typedPerFilterConfig, [pickerFilter]: pickerOfRoute(picker) },
    };
  });
  const value = create(WeightedClusterSchema, { ...clusterSpecifier.value, clusters });
  return create(RouteActionSchema, { ...action, clusterSpecifier: { case: "weightedClusters", value } });
}

/** The picked endpoint first; any other where there is none. */
export function followingPicker(cluster: Cluster): Cluster {
  const { commonLbConfig } = cluster;
  const byLocality = commonLbConfig?.localityConfigSpecifier.case === "localityWeightedLbConfig";
  return create(ClusterSchema, {
    ...cluster,
    ...(commonLbConfig && {
      commonLbConfig: { ...commonLbConfig, ...(byLocality && { localityConfigSpecifier: { case: undefined } }) },
    }),
    lbConfig: { case: undefined },
    lbPolicy: LbPolicy.CLUSTER_PROVIDED,
    loadBalancingPolicy: pickedFirst,
  });
}

const overrideHost = create(OverrideHostSchema, {
  overrideHostSources: [{ metadata: metadataKey(pickedKey) }],
  selectedHostKey: metadataKey(servedKey),
  fallbackPolicy: { policies: [policy("round_robin", pack(RoundRobinSchema, create(RoundRobinSchema)))] },
});

const pickedFirst = create(LoadBalancingPolicySchema, {
  policies: [policy("override_host", pack(OverrideHostSchema, overrideHost))],
});

function metadataKey(key: string) {
  return { key: metadataNamespace, path: [{ segment: { case: "key" as const, value: key } }] };
}

function policy(name: string, typedConfig: Any): LoadBalancingPolicy_Policy {
  const typedExtensionConfig = { name: `envoy.load_balancing_policies.${name}`, typedConfig };
  return create(LoadBalancingPolicy_PolicySchema, { typedExtensionConfig });
}
