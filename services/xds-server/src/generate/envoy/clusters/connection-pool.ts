/** Connection pools: limits, keepalive and the HTTP protocol spoken upstream. */
import { isHttp, isHttp2, isUnsupported, type Protocol } from "@flotilla/model";
import { type Any, create, type MessageInitShape, pack } from "@flotilla/proto";
import {
  type CircuitBreakers,
  CircuitBreakersSchema,
} from "@flotilla/proto/envoy/config/cluster/v3/circuit_breaker_pb";
import type { UpstreamConnectionOptions } from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import { UpstreamConnectionOptionsSchema } from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import {
  type HttpProtocolOptions_OutlierDetection as HttpOutlierDetection,
  HttpProtocolOptionsSchema,
} from "@flotilla/proto/envoy/extensions/upstreams/http/v3/http_protocol_options_pb";
import {
  type ConnectionPoolSettings,
  type ConnectionPoolSettings_TCPSettings_TcpKeepalive as TcpKeepalive,
  type TrafficPolicy,
  ConnectionPoolSettings_HTTPSettings_H2UpgradePolicy as Upgrade,
} from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import { headerCase } from "../header-case.ts";

/** Istio bounds nothing unless it is asked to. */
const unlimited = 0xffff_ffff;
export const httpOptionsKey = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";

export interface CircuitBreakerInputs {
  /** Envoy keeps gauges of what is left below each limit. */
  readonly tracksRemaining: boolean;
  readonly pool?: ConnectionPoolSettings | undefined;
  readonly retryBudget?: TrafficPolicy["retryBudget"];
}

export function circuitBreakers({ tracksRemaining, pool, retryBudget }: CircuitBreakerInputs): CircuitBreakers {
  const { tcp, http } = pool ?? {};
  const or = (value: number | undefined) => (value === undefined || value === 0 ? unlimited : value);
  return create(CircuitBreakersSchema, {
    thresholds: [
      {
        maxConnections: or(tcp?.maxConnections),
        maxPendingRequests: or(http?.http1MaxPendingRequests),
        maxRequests: or(http?.http2MaxRequests),
        maxRetries: or(http?.maxRetries),
        ...(tracksRemaining && { trackRemaining: true }),
        ...(retryBudget && {
          retryBudget: {
            budgetPercent: { value: retryBudget.percent ?? 20 },
            minRetryConcurrency: retryBudget.minRetryConcurrency || 3,
            ...(retryBudget.budgetInterval && { budgetInterval: retryBudget.budgetInterval }),
          },
        }),
      },
    ],
  });
}

/** The mesh's keepalive, each value replaced by the rule's where it has one. */
export function connectionOptions(
  mesh: TcpKeepalive | undefined,
  rule?: TcpKeepalive,
): { upstreamConnectionOptions?: UpstreamConnectionOptions } {
  if (mesh === undefined && rule === undefined) return {};
  const probes = rule?.probes || mesh?.probes;
  const time = rule?.time ?? mesh?.time;
  const interval = rule?.interval ?? mesh?.interval;
  const upstreamConnectionOptions = create(UpstreamConnectionOptionsSchema, {
    tcpKeepalive: {
      ...(probes && { keepaliveProbes: probes }),
      ...(time && { keepaliveTime: Number(time.seconds) }),
      ...(interval && { keepaliveInterval: Number(interval.seconds) }),
    },
  });
  return { upstreamConnectionOptions };
}

export interface ProtocolInputs {
  readonly protocol: Protocol;
  readonly pool?: ConnectionPoolSettings | undefined;
  /** Towards the workload itself the protocol stays as it is. */
  readonly mayUpgrade?: boolean;
  /** MeshConfig's h2UpgradePolicy is UPGRADE. */
  readonly meshUpgrades: boolean;
  /** The proxy finds out what callers speak where the port has no protocol, and speaks the same. */
  readonly sniffs: boolean;
  /** HTTP/1.1 headers keep the case that callers wrote them in. */
  readonly preservesCase?: boolean;
}

/**
 * A rule's UPGRADE counts for every port whose protocol is known; the mesh's only for those that speak HTTP. Where the protocol is found
 * out, the caller's stays, and where headers keep their case, HTTP/1.1.
 */
export function speaksHttp2(inputs: ProtocolInputs): boolean {
  const { protocol, pool, mayUpgrade = true, meshUpgrades, sniffs, preservesCase = false } = inputs;
  if (pool?.http?.useClientProtocol || (sniffs && isUnsupported(protocol))) return false;
  if (isHttp2(protocol)) return true;
  if (!mayUpgrade || (preservesCase && mayBeHttp1(protocol))) return false;
  const policy = pool?.http?.h2UpgradePolicy ?? Upgrade.DEFAULT;
  if (policy !== Upgrade.DEFAULT) return policy === Upgrade.UPGRADE;
  return meshUpgrades && isHttp(protocol);
}

export interface HttpOptionsInputs extends ProtocolInputs {
  readonly autoSni?: boolean;
  readonly autoSanValidation?: boolean;
  /** Ejects endpoints by what they answer. */
  readonly outlierDetection?: HttpOutlierDetection | undefined;
}

/** Nothing when Envoy's defaults are meant: HTTP/1.1 without limits. */
export function httpOptions(inputs: HttpOptionsInputs): { typedExtensionProtocolOptions?: { [key: string]: Any } } {
  const { protocol, pool, sniffs, preservesCase = false, outlierDetection } = inputs;
  const { autoSni = false, autoSanValidation = false } = inputs;
  const common = commonOptions(pool);
  const isHttp2Spoken = speaksHttp2(inputs);
  const followsCaller = pool?.http?.useClientProtocol === true || (sniffs && isUnsupported(protocol));
  const keepsCase = preservesCase && (mayBeHttp1(protocol) || followsCaller);
  const namesItself = autoSni || autoSanValidation;
  const isStated = common !== undefined || outlierDetection !== undefined || namesItself || keepsCase;
  if (!isStated && !isHttp2Spoken && !followsCaller) return {};
  const httpProtocolOptions = headerCase(keepsCase);
  const options: MessageInitShape<typeof HttpProtocolOptionsSchema> = {
    ...(common && { commonHttpProtocolOptions: common }),
    ...(namesItself && { upstreamHttpProtocolOptions: { autoSni, autoSanValidation } }),
    ...(outlierDetection && { outlierDetection }),
    upstreamProtocolOptions:
      followsCaller && !isHttp2Spoken
        ? { case: "useDownstreamProtocolConfig", value: { httpProtocolOptions, http2ProtocolOptions: {} } }
        : {
            case: "explicitHttpConfig",
            value: {
              protocolConfig: isHttp2Spoken
                ? { case: "http2ProtocolOptions", value: http2Options(pool) }
                : { case: "httpProtocolOptions", value: httpProtocolOptions },
            },
          },
  };
  const packed = pack(HttpProtocolOptionsSchema, create(HttpProtocolOptionsSchema, options));
  return { typedExtensionProtocolOptions: { [httpOptionsKey]: packed } };
}

const mayBeHttp1 = (protocol: Protocol): boolean => isHttp(protocol) || isUnsupported(protocol);

function http2Options(pool: ConnectionPoolSettings | undefined) {
  const { maxConcurrentStreams = 0, http2KeepAlive } = pool?.http ?? {};
  const { interval, timeout } = http2KeepAlive ?? {};
  return {
    ...(maxConcurrentStreams > 0 && { maxConcurrentStreams }),
    ...(http2KeepAlive && { connectionKeepalive: { ...(interval && { interval }), ...(timeout && { timeout }) } }),
  };
}

/** Settings of HTTP/2 give clusters of other protocols an empty message. */
function commonOptions(pool: ConnectionPoolSettings | undefined) {
  const requests = pool?.http?.maxRequestsPerConnection ?? 0;
  const ofHttp2 = (pool?.http?.maxConcurrentStreams ?? 0) > 0 || pool?.http?.http2KeepAlive !== undefined;
  const idleTimeout = pool?.http?.idleTimeout ?? pool?.tcp?.idleTimeout;
  const maxConnectionDuration = pool?.tcp?.maxConnectionDuration;
  if (requests === 0 && !ofHttp2 && idleTimeout === undefined && maxConnectionDuration === undefined) return undefined;
  return {
    ...(requests > 0 && { maxRequestsPerConnection: requests }),
    ...(idleTimeout && { idleTimeout }),
    ...(maxConnectionDuration && { maxConnectionDuration }),
  };
}

/** Traffic that passes through keeps the protocol it came with. */
export const passthroughHttpOptions: Any = passthroughOptions(false);

export const casePreservingPassthrough: Any = passthroughOptions(true);

function passthroughOptions(preservesCase: boolean): Any {
  const options = create(HttpProtocolOptionsSchema, {
    commonHttpProtocolOptions: { idleTimeout: { seconds: 300n, nanos: 0 } },
    upstreamProtocolOptions: {
      case: "useDownstreamProtocolConfig",
      value: { httpProtocolOptions: headerCase(preservesCase), http2ProtocolOptions: {} },
    },
  });
  return pack(HttpProtocolOptionsSchema, options);
}
