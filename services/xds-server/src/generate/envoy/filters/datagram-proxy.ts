/** The listener filter that leads datagrams to clusters. */
import { type Any, create, pack } from "@flotilla/proto";
import type { AccessLog } from "@flotilla/proto/envoy/config/accesslog/v3/accesslog_pb";
import {
  type ListenerFilter,
  ListenerFilterSchema,
} from "@flotilla/proto/envoy/config/listener/v3/listener_components_pb";
import { RouteSchema } from "@flotilla/proto/envoy/extensions/filters/udp/udp_proxy/v3/route_pb";
import { UdpProxyConfigSchema } from "@flotilla/proto/envoy/extensions/filters/udp/udp_proxy/v3/udp_proxy_pb";
import { SourcePortInputSchema } from "@flotilla/proto/envoy/extensions/matching/common_inputs/network/v3/network_inputs_pb";
import { RuntimeFractionSchema } from "@flotilla/proto/envoy/extensions/matching/input_matchers/runtime_fraction/v3/runtime_fraction_pb";
import { FractionalPercent_DenominatorType as Denominator } from "@flotilla/proto/envoy/type/v3/percent_pb";
import {
  type Matcher,
  type Matcher_OnMatch,
  Matcher_OnMatchSchema,
  MatcherSchema,
} from "@flotilla/proto/xds/type/matcher/v3/matcher_pb";
import type { WeightedCluster } from "./network-filters.ts";

export interface DatagramProxyInputs {
  readonly statPrefix: string;
  /** One cluster, or several that share sessions by weight. */
  readonly clusters: string | readonly WeightedCluster[];
  readonly accessLog: readonly AccessLog[];
}

export function datagramProxy({ statPrefix, clusters, accessLog }: DatagramProxyInputs): ListenerFilter {
  const shares = typeof clusters === "string" ? [{ name: clusters, weight: 1 }] : clusters;
  const config = create(UdpProxyConfigSchema, {
    statPrefix,
    routeSpecifier: { case: "matcher", value: matcherOf(shares) },
    accessLog: [...accessLog],
  });
  return create(ListenerFilterSchema, {
    name: "envoy.filters.udp_listener.udp_proxy",
    configType: { case: "typedConfig", value: pack(UdpProxyConfigSchema, config) },
  });
}

const million = 1_000_000;

/**
 * Envoy's UDP proxy does not support weighted clusters. A session is one of a client's port, whose hash decides: all shares use the same
 * hash, so that each takes the rest that the ones before it have left.
 */
function matcherOf(shares: readonly WeightedCluster[]): Matcher {
  const total = shares.reduce((sum, { weight }) => sum + weight, 0);
  let before = 0;
  const matchers = shares.slice(0, -1).map(({ name, weight }) => {
    before += weight;
    const numerator = Math.round((before / total) * million);
    return { predicate: fractionOfSessions(numerator), onMatch: toCluster(name) };
  });
  const last = shares.at(-1);
  return create(MatcherSchema, {
    ...(matchers.length > 0 && { matcherType: { case: "matcherList" as const, value: { matchers } } }),
    ...(last && { onNoMatch: toCluster(last.name) }),
  });
}

function fractionOfSessions(numerator: number) {
  const fraction = create(RuntimeFractionSchema, {
    runtimeFraction: { defaultValue: { numerator, denominator: Denominator.MILLION } },
  });
  const input = { name: "source-port", typedConfig: pack(SourcePortInputSchema, create(SourcePortInputSchema)) };
  const custom: { readonly name: string; readonly typedConfig: Any } = {
    name: "share",
    typedConfig: pack(RuntimeFractionSchema, fraction),
  };
  return {
    matchType: {
      case: "singlePredicate" as const,
      value: { input, matcher: { case: "customMatch" as const, value: custom } },
    },
  };
}

function toCluster(cluster: string): Matcher_OnMatch {
  const action = { name: "route", typedConfig: pack(RouteSchema, create(RouteSchema, { cluster })) };
  return create(Matcher_OnMatchSchema, { onMatch: { case: "action", value: action } });
}
