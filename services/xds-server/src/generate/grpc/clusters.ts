/**
 * CDS of gRPC programs without a proxy, which ask for the clusters that their routes name. They get only the fields that gRPC uses. Mutual
 * TLS is left to rules that ask for it: a client does not report whether its credentials support it.
 */
import { type Config, parseClusterName, type Service, type ServicePort } from "@flotilla/model";
import { create, typeUrl } from "@flotilla/proto";
import {
  type Cluster,
  ClusterSchema,
  Cluster_DiscoveryType as Discovery,
  Cluster_LbPolicy as LbPolicy,
} from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import { HealthStatus } from "@flotilla/proto/envoy/config/core/v3/health_check_pb";
import {
  type DestinationRule,
  LoadBalancerSettings_SimpleLB as SimpleLb,
  ClientTLSSettings_TLSmode as TlsMode,
  type TrafficPolicy,
} from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import { destinationRuleOf } from "../../snapshot/scope/destination-rules.ts";
import { visibleService } from "../../snapshot/scope/sidecar-scope.ts";
import type { View } from "../../snapshot/view.ts";
import { createGenerator } from "../encode/generator.ts";
import { loadBalancer } from "../envoy/clusters/load-balancer.ts";
import { clientTls } from "../envoy/tls/certificate-provider.ts";
import { upstreamIdentities } from "../select/cluster-target.ts";
import { keepsSessions } from "../select/persistent-session.ts";
import { trafficPolicyOf, withDefaults } from "../select/traffic-policy.ts";
import { grpcOutlierDetection } from "./outlier-detection.ts";

interface GrpcClusterInputs {
  readonly name: string;
  readonly policy: TrafficPolicy | undefined;
  /** One a line, where the policy asks for the mesh's TLS. */
  readonly identities: string;
  readonly keepsSessions: boolean;
  readonly detectsOutliers: boolean;
}

export const grpcClusters = createGenerator<GrpcClusterInputs, Cluster>({
  typeUrl: typeUrl.cluster,
  label: "grpc ",
  schema: ClusterSchema,
  select: (view, name) => {
    const target = grpcTarget(view, name);
    if (target === undefined) return undefined;
    const { service, port, subset, rule } = target;
    const stated = rule && trafficPolicyOf(rule.spec, port.number, subset);
    const detectsOutliers = view.feature("grpcOutlierDetection");
    const policy = detectsOutliers ? withDefaults(view.mesh.defaultTrafficPolicy, stated) : stated;
    const isMutual = policy?.tls?.mode === TlsMode.ISTIO_MUTUAL;
    return {
      name,
      policy,
      identities: isMutual ? upstreamIdentities(view, service).join("\n") : "",
      keepsSessions: subset === "" && keepsSessions(view, service.labels),
      detectsOutliers,
    };
  },
  build,
});

interface GrpcTarget {
  readonly service: Service;
  readonly port: ServicePort;
  readonly subset: string;
  readonly rule: Config<DestinationRule> | undefined;
}

/** Subsets have outbound clusters only. */
function grpcTarget(view: View, name: string): GrpcTarget | undefined {
  const parts = parseClusterName(name);
  const service = parts && visibleService(view, parts.hostname);
  const port = service?.ports.find(({ number }) => number === parts?.port);
  if (parts === undefined || service === undefined || port === undefined) return undefined;
  const { subset, direction } = parts;
  const rule = destinationRuleOf(view, service);
  const isKnown = subset === "" || (direction === "outbound" && rule?.spec.subsets.some((one) => one.name === subset));
  return isKnown ? { service, port, subset, rule } : undefined;
}

function build({ name, policy, identities, keepsSessions, detectsOutliers }: GrpcClusterInputs): Cluster {
  const maxRequests = policy?.connectionPool?.http?.http2MaxRequests ?? 0;
  const isMutual = policy?.tls?.mode === TlsMode.ISTIO_MUTUAL;
  const outliers = detectsOutliers ? policy?.outlierDetection : undefined;
  const outlierDetection = outliers && grpcOutlierDetection(outliers);
  return create(ClusterSchema, {
    name,
    altStatName: `${name};`,
    clusterDiscoveryType: { case: "type", value: Discovery.EDS },
    edsClusterConfig: { serviceName: name, edsConfig: { configSourceSpecifier: { case: "ads", value: {} } } },
    ...balancer(policy),
    ...(maxRequests > 0 && { circuitBreakers: { thresholds: [{ maxRequests }] } }),
    ...(keepsSessions && { commonLbConfig: { overrideHostStatus: { statuses: sessionStatuses } } }),
    ...(isMutual && { transportSocket: clientTls(identities.split("\n").filter((one) => one !== "")) }),
    ...(outlierDetection && { outlierDetection }),
  });
}

/** Requests stay with their endpoint while it drains. */
const sessionStatuses = [HealthStatus.HEALTHY, HealthStatus.DRAINING, HealthStatus.UNKNOWN, HealthStatus.DEGRADED];

/** gRPC balances in turn by default; of the other policies it has the fewest requests and the hash ring. */
function balancer(policy: TrafficPolicy | undefined): ReturnType<typeof loadBalancer> {
  const settings = policy?.loadBalancer;
  if (settings?.lbPolicy.case === "consistentHash") return loadBalancer(settings);
  const isLeast = settings?.lbPolicy.case === "simple" && settings.lbPolicy.value === SimpleLb.LEAST_REQUEST;
  return isLeast ? { lbPolicy: LbPolicy.LEAST_REQUEST } : {};
}
