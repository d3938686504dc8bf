/** How a cluster chooses among its endpoints. */
import { create, type MessageInitShape } from "@flotilla/proto";
import {
  type Cluster_CommonLbConfigSchema,
  type Cluster_SlowStartConfig,
  Cluster_SlowStartConfigSchema,
  type ClusterSchema,
  Cluster_LbPolicy as LbPolicy,
} from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import { HealthStatus } from "@flotilla/proto/envoy/config/core/v3/health_check_pb";
import {
  type LoadBalancerSettings,
  type LoadBalancerSettings_ConsistentHashLB,
  LoadBalancerSettings_SimpleLB as SimpleLb,
  type ZoneAwareLoadBalancerSetting,
} from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";

type LbFields = Pick<MessageInitShape<typeof ClusterSchema>, "lbPolicy" | "lbConfig">;

export function isPassthrough(settings: LoadBalancerSettings | undefined): boolean {
  return settings?.lbPolicy.case === "simple" && settings.lbPolicy.value === SimpleLb.PASSTHROUGH;
}

/** @param keepsKeys requests go by key whatever a rule states, as servers that hold data need it */
export function loadBalancer(settings: LoadBalancerSettings | undefined, keepsKeys = false): LbFields {
  if (keepsKeys) return { lbPolicy: LbPolicy.MAGLEV };
  const balancer = settings?.lbPolicy;
  if (balancer?.case === "consistentHash") return consistentHash(balancer.value);
  const slowStart = slowStartConfig(settings);
  switch (balancer?.case === "simple" ? balancer.value : undefined) {
    case SimpleLb.RANDOM:
      return { lbPolicy: LbPolicy.RANDOM };
    case SimpleLb.ROUND_ROBIN:
      return {
        lbPolicy: LbPolicy.ROUND_ROBIN,
        ...(slowStart && { lbConfig: { case: "roundRobinLbConfig" as const, value: { slowStartConfig: slowStart } } }),
      };
    case SimpleLb.LEAST_REQUEST:
    case SimpleLb.LEAST_CONN:
      return leastRequest(slowStart);
    default:
      return leastRequest(slowStart);
  }
}

function leastRequest(slowStart: Cluster_SlowStartConfig | undefined): LbFields {
  return {
    lbPolicy: LbPolicy.LEAST_REQUEST,
    ...(slowStart && { lbConfig: { case: "leastRequestLbConfig" as const, value: { slowStartConfig: slowStart } } }),
  };
}

const defaultRingSize = 1024n;

function consistentHash({ hashAlgorithm, minimumRingSize }: LoadBalancerSettings_ConsistentHashLB): LbFields {
  if (hashAlgorithm.case === "maglev") {
    const { tableSize } = hashAlgorithm.value;
    return {
      lbPolicy: LbPolicy.MAGLEV,
      ...(tableSize > 0n && { lbConfig: { case: "maglevLbConfig" as const, value: { tableSize } } }),
    };
  }
  const stated = hashAlgorithm.case === "ringHash" ? hashAlgorithm.value.minimumRingSize : minimumRingSize;
  return {
    lbPolicy: LbPolicy.RING_HASH,
    lbConfig: { case: "ringHashLbConfig", value: { minimumRingSize: stated || defaultRingSize } },
  };
}

function slowStartConfig(settings: LoadBalancerSettings | undefined): Cluster_SlowStartConfig | undefined {
  const warmup = settings?.warmup;
  const slowStartWindow = warmup?.duration ?? settings?.warmupDurationSecs;
  if (slowStartWindow === undefined) return undefined;
  if (warmup === undefined) return create(Cluster_SlowStartConfigSchema, { slowStartWindow });
  const { aggression = 1, minimumPercent = 10 } = warmup;
  return create(Cluster_SlowStartConfigSchema, {
    slowStartWindow,
    aggression: { defaultValue: aggression, runtimeKey: aggressionKey },
    minWeightPercent: { value: minimumPercent },
  });
}

/** Envoy requires some name for a value that can be overridden at run time; this one is never set. */
const aggressionKey = "(";

export interface CommonLbInputs {
  /** Below it Envoy calls any endpoint; undefined for Envoy's own threshold. */
  readonly minHealthPercent: number | undefined;
  /** Sticky sessions: requests stay with their endpoint while it drains. */
  readonly keepsSessions: boolean;
  readonly weightsLocalities: boolean;
  /** Excludes the weights of localities. */
  readonly zones: ZoneAwareLoadBalancerSetting | undefined;
}

export function commonLbConfig({
  minHealthPercent,
  keepsSessions,
  weightsLocalities,
  zones,
}: CommonLbInputs): MessageInitShape<typeof Cluster_CommonLbConfigSchema> {
  const { HEALTHY, DRAINING, UNKNOWN, DEGRADED } = HealthStatus;
  return {
    ...(minHealthPercent !== undefined && {
      healthyPanicThreshold: minHealthPercent > 0 ? { value: minHealthPercent } : {},
    }),
    ...(keepsSessions && { overrideHostStatus: { statuses: [HEALTHY, DRAINING, UNKNOWN, DEGRADED] } }),
    ...(weightsLocalities && {
      localityConfigSpecifier: { case: "localityWeightedLbConfig" as const, value: {} },
    }),
    ...(zones && { localityConfigSpecifier: { case: "zoneAwareLbConfig" as const, value: zoneAware(zones) } }),
  };
}

/** Envoy's own default is to divide among zones, so that a setting that is disabled is sent too. */
function zoneAware({ enabled, minClusterSize }: ZoneAwareLoadBalancerSetting) {
  return {
    ...(enabled === false && { routingEnabled: { value: 0 } }),
    ...(minClusterSize !== undefined && { minClusterSize: BigInt(minClusterSize) }),
  };
}
