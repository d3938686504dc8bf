/** Selects the filter chain of `main_internal` for a connection: by the address of a service, its port, and the layer it carries. */
import { isUnsupported, parseCidr, type ServicePort } from "@flotilla/model";
import { type Any, create, type GenMessage, type Message, pack, StringValueSchema } from "@flotilla/proto";
import {
  ApplicationProtocolInputSchema,
  DestinationIPInputSchema,
  DestinationPortInputSchema,
  FilterStateInputSchema,
} from "@flotilla/proto/envoy/extensions/matching/common_inputs/network/v3/network_inputs_pb";
import {
  type IPMatcher_IPRangeMatcher,
  IPMatcher_IPRangeMatcherSchema,
  IPMatcherSchema,
} from "@flotilla/proto/xds/type/matcher/v3/ip_pb";
import {
  type Matcher,
  type Matcher_OnMatch,
  Matcher_OnMatchSchema,
  MatcherSchema,
} from "@flotilla/proto/xds/type/matcher/v3/matcher_pb";
import { authorityKey, sourceKey } from "../../envoy/hbone/filter-state.ts";
import { layersOf, vipClusterName } from "../../select/vip-cluster.ts";

export interface MatchedService {
  readonly hostname: string;
  /** Addresses or ranges. */
  readonly vips: readonly string[];
  readonly ports: readonly ServicePort[];
  /** Behind an east-west gateway. */
  readonly passedOn?: PassedOn;
}

/** How the tunnels for a service are passed on. */
export interface PassedOn {
  readonly waypoint?: {
    readonly chain: string;
    /** Also for callers that are gateways. */
    readonly takesGateways: boolean;
  };
}

/** Other destinations are workloads themselves. */
const directChains = { http: "direct-http", tcp: "direct-tcp" } as const;

/** By the host and port that a tunnel is for, before its address: of several networks services may have one address. */
export function authorityMatcher(services: readonly MatchedService[], byAddress: Matcher): Matcher {
  const entries = services.flatMap(({ hostname, ports, passedOn }) =>
    ports.flatMap((port) => {
      const onMatch = portMatch(hostname, port, passedOn);
      return onMatch === undefined ? [] : [[`${hostname}:${port.number}`, onMatch] as const];
    }),
  );
  if (entries.length === 0) return byAddress;
  const authority = stateInput("authority-filter-state", authorityKey);
  const onNoMatch = create(Matcher_OnMatchSchema, { onMatch: { case: "matcher", value: byAddress } });
  return create(MatcherSchema, { ...exactMatcher(authority, entries), onNoMatch });
}

/** @param direct behind the waypoint are workloads too */
export function vipMatcher(services: readonly MatchedService[], direct: readonly MatchedWorkload[]): Matcher {
  const ranges = [...services.flatMap(serviceRange), ...workloadRanges(direct)];
  return create(MatcherSchema, {
    matcherType: {
      case: "matcherTree",
      value: {
        input: input("ip", DestinationIPInputSchema),
        treeType: {
          case: "customMatch",
          value: { name: "ip", typedConfig: pack(IPMatcherSchema, create(IPMatcherSchema, { rangeMatchers: ranges })) },
        },
      },
    },
  });
}

export interface MatchedWorkload {
  readonly address: string;
}

function serviceRange({ hostname, vips, ports, passedOn }: MatchedService): readonly IPMatcher_IPRangeMatcher[] {
  const byPort = ports.flatMap((port) => {
    const onMatch = portMatch(hostname, port, passedOn);
    return onMatch === undefined ? [] : [[String(port.number), onMatch] as const];
  });
  if (byPort.length === 0) return [];
  const matcher = exactMatcher(input("port", DestinationPortInputSchema), byPort);
  return [rangeMatcher(vips, { case: "matcher", value: matcher })];
}

/** One for all of them. */
function workloadRanges(direct: readonly MatchedWorkload[]): readonly IPMatcher_IPRangeMatcher[] {
  if (direct.length === 0) return [];
  const addresses = direct.map(({ address }) => address);
  return [rangeMatcher(addresses, { case: "matcher", value: protocolMatcher(directChains) })];
}

function rangeMatcher(ranges: readonly string[], onMatch: Matcher_OnMatch["onMatch"]): IPMatcher_IPRangeMatcher {
  return create(IPMatcher_IPRangeMatcherSchema, {
    ranges: ranges.map(cidrRange),
    onMatch: create(Matcher_OnMatchSchema, { onMatch }),
  });
}

function cidrRange(text: string) {
  const { address, length } = parseCidr(text) ?? { address: text, length: text.includes(":") ? 128 : 32 };
  return { addressPrefix: address, prefixLen: length };
}

function portMatch(
  hostname: string,
  { number: port, protocol }: ServicePort,
  passedOn: PassedOn | undefined,
): Matcher_OnMatch | undefined {
  const name = (layer: "http" | "tcp") => vipClusterName({ port, layer, subset: "", hostname });
  if (passedOn !== undefined) return protocol === "UDP" ? undefined : passingMatch(name("tcp"), passedOn);
  if (isUnsupported(protocol))
    return create(Matcher_OnMatchSchema, {
      onMatch: { case: "matcher", value: protocolMatcher({ http: name("http"), tcp: name("tcp") }) },
    });
  const [layer] = layersOf(protocol);
  return layer && chainAction(name(layer));
}

/** Callers that are waypoints have applied the policies of the service; its waypoint is for all others. */
function passingMatch(own: string, { waypoint }: PassedOn): Matcher_OnMatch {
  if (waypoint === undefined) return chainAction(own);
  const byWaypoint = chainAction(waypoint.chain);
  const bySource = exactMatcher(stateInput("request-source-filter-state", sourceKey), [
    ["waypoint", chainAction(own)],
    ["gateway", waypoint.takesGateways ? byWaypoint : chainAction(own)],
  ]);
  const matcher = create(MatcherSchema, { ...bySource, onNoMatch: byWaypoint });
  return create(Matcher_OnMatchSchema, { onMatch: { case: "matcher", value: matcher } });
}

/** Matches the first bytes of a connection. */
function protocolMatcher(chains: { readonly http: string; readonly tcp: string }): Matcher {
  const http = chainAction(chains.http);
  const byProtocol = exactMatcher(input("application-protocol", ApplicationProtocolInputSchema), [
    ["'h2c'", http],
    ["'http/1.1'", http],
  ]);
  return create(MatcherSchema, { ...byProtocol, onNoMatch: chainAction(chains.tcp) });
}

function exactMatcher(of: ReturnType<typeof input>, entries: readonly (readonly [string, Matcher_OnMatch])[]): Matcher {
  return create(MatcherSchema, {
    matcherType: {
      case: "matcherTree",
      value: { input: of, treeType: { case: "exactMatchMap", value: { map: Object.fromEntries(entries) } } },
    },
  });
}

function chainAction(name: string): Matcher_OnMatch {
  const typedConfig = pack(StringValueSchema, create(StringValueSchema, { value: name }));
  return create(Matcher_OnMatchSchema, { onMatch: { case: "action", value: { name, typedConfig } } });
}

function stateInput(name: string, key: string): ReturnType<typeof input> {
  return { name, typedConfig: pack(FilterStateInputSchema, create(FilterStateInputSchema, { key })) };
}

function input(name: string, schema: GenMessage<Message>): { readonly name: string; readonly typedConfig: Any } {
  return { name, typedConfig: pack(schema, create(schema)) };
}
