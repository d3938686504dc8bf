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
import { authorityKey } from "../../envoy/hbone/filter-state.ts";
import { layersOf, vipClusterName } from "../../select/vip-cluster.ts";

export interface MatchedService {
  readonly hostname: string;
  /** Addresses or ranges. */
  readonly vips: readonly string[];
  readonly ports: readonly ServicePort[];
}

/** Other destinations are workloads themselves. */
const directChains = { http: "direct-http", tcp: "direct-tcp" } as const;

/** By the host and port that a tunnel is for, before its address: of several networks services may have one address. */
export function authorityMatcher(services: readonly MatchedService[], byAddress: Matcher): Matcher {
  const entries = services.flatMap(({ hostname, ports }) =>
    ports.flatMap((port) => {
      const onMatch = portMatch(hostname, port);
      return onMatch === undefined ? [] : [[`${hostname}:${port.number}`, onMatch] as const];
    }),
  );
  if (entries.length === 0) return byAddress;
  const authority = {
    name: "authority-filter-state",
    typedConfig: pack(FilterStateInputSchema, create(FilterStateInputSchema, { key: authorityKey })),
  };
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

function serviceRange({ hostname, vips, ports }: MatchedService): readonly IPMatcher_IPRangeMatcher[] {
  const byPort = ports.flatMap((port) => {
    const onMatch = portMatch(hostname, port);
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

function portMatch(hostname: string, { number: port, protocol }: ServicePort): Matcher_OnMatch | undefined {
  const name = (layer: "http" | "tcp") => vipClusterName({ port, layer, subset: "", hostname });
  if (isUnsupported(protocol))
    return create(Matcher_OnMatchSchema, {
      onMatch: { case: "matcher", value: protocolMatcher({ http: name("http"), tcp: name("tcp") }) },
    });
  const [layer] = layersOf(protocol);
  return layer && chainAction(name(layer));
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

function input(name: string, schema: GenMessage<Message>): { readonly name: string; readonly typedConfig: Any } {
  return { name, typedConfig: pack(schema, create(schema)) };
}
