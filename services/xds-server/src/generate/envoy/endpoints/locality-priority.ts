/** Selects the localities of a cluster that come first for a proxy, or the share of its requests that each gets. */
import { type Labels, type Locality, ownValue, parseLocality, totalWeight } from "@flotilla/model";
import type { LocalityLoadBalancerSetting } from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";

export interface Member {
  readonly locality: string;
  readonly labels: Labels;
  readonly weight: number;
  readonly network?: string;
  readonly clusterId?: string;
  readonly nodeName?: string | undefined;
}

export interface Group<Endpoint extends Member> {
  readonly locality: string;
  readonly members: readonly Endpoint[];
  readonly weight: number;
  readonly priority: number;
}

/** Shares by the first rule that covers the proxy's locality; localities that it does not name get nothing. */
export function distribute<Endpoint extends Member>(
  groups: readonly Group<Endpoint>[],
  rules: LocalityLoadBalancerSetting["distribute"],
  own: Locality,
): Group<Endpoint>[] | undefined {
  const rule = rules.find(({ from }) => covers(from, own));
  if (rule === undefined) return undefined;
  const left = new Set(groups);
  const weights = new Map<Group<Endpoint>, number>();
  for (const [pattern, share] of Object.entries(rule.to)) {
    const meant = [...left].filter(({ locality }) => covers(pattern, parseLocality(locality)));
    const total = meant.reduce((sum, group) => sum + ownWeight(group), 0);
    for (const group of meant) {
      left.delete(group);
      weights.set(group, Math.ceil((ownWeight(group) * share) / total));
    }
  }
  return groups.map((group) => {
    const weight = weights.get(group);
    return weight === undefined ? { ...group, members: [] } : { ...group, weight };
  });
}

/** A locality without an endpoint that can be called keeps its share. */
function ownWeight({ weight }: Group<Member>): number {
  return Math.max(weight, 1);
}

/** `*` at the end stands for every part from there on; a missing part too. */
function covers(pattern: string, { region, zone, subzone }: Locality): boolean {
  const parts = [region, zone, subzone];
  for (const [index, wanted] of pattern.split("/").entries()) {
    if (wanted === "*") return true;
    if (wanted !== parts[index]) return false;
  }
  return true;
}

/**
 * By distance: the own subzone, zone, region, the region to fail over to, everything else. Priorities that groups have
 * already come first. With `ignoresZones` the own region is one. Source: corpus of scenarios, services whose endpoints are in several networks.
 */
export function failover<Endpoint extends Member>(
  groups: readonly Group<Endpoint>[],
  rules: LocalityLoadBalancerSetting["failover"],
  own: Locality,
  ignoresZones = false,
): Group<Endpoint>[] {
  const rule = rules.find(({ from }) => from === own.region);
  return dense(
    groups.map((group) => {
      const there = parseLocality(group.locality);
      const distance = ignoresZones && own.region === there.region ? 0 : distanceOf(own, there);
      const isLast = distance === 3 && rule !== undefined && there.region !== rule.to;
      return { ...group, priority: group.priority * distances + (isLast ? 4 : distance) };
    }),
  );
}

/** How many distances there are. */
const distances = 5;

function distanceOf(own: Locality, there: Locality): number {
  if (own.region !== there.region) return 3;
  if (own.zone !== there.zone) return 2;
  return own.subzone === there.subzone ? 0 : 1;
}

/** By how many of the labels, from the first on, are the proxy's own; `label=value` sets what to compare with. */
export function failoverByLabels<Endpoint extends Member>(
  groups: readonly Group<Endpoint>[],
  priorities: readonly string[],
  ownLabel: (name: string) => string | undefined,
): Group<Endpoint>[] {
  const wanted = priorities.map((text) => {
    const [name = "", value] = text.split("=");
    return { name, value: value ?? ownLabel(name) ?? "" };
  });
  const priorityOf = (member: Member) => {
    const matched = wanted.findIndex(({ name, value }) => (topologyLabel(member, name) ?? "") !== value);
    return matched < 0 ? 0 : wanted.length - matched;
  };
  return dense(
    groups.flatMap(({ locality, members }) =>
      [...Map.groupBy(members, priorityOf)]
        .sort(([a], [b]) => a - b)
        .map(([priority, found]) => ({ locality, members: found, weight: totalWeight(found), priority })),
    ),
  );
}

/** Labels that distinguish where a workload is come from its place, whatever else it is labelled with. */
function topologyLabel({ locality, labels, network, clusterId, nodeName }: Member, name: string): string | undefined {
  const { region, zone, subzone } = parseLocality(locality);
  switch (name) {
    case "topology.kubernetes.io/region":
      return region;
    case "topology.kubernetes.io/zone":
      return zone;
    case "topology.istio.io/subzone":
      return subzone;
    case "topology.istio.io/network":
      return network;
    case "topology.istio.io/cluster":
      return clusterId;
    case "kubernetes.io/hostname":
      return nodeName;
    default:
      return ownValue(labels, name);
  }
}

/** Envoy requires priorities without gaps. */
function dense<Endpoint extends Member>(groups: readonly Group<Endpoint>[]): Group<Endpoint>[] {
  const levels = [...new Set(groups.map(({ priority }) => priority))].sort((a, b) => a - b);
  return groups.map((group) => ({ ...group, priority: levels.indexOf(group.priority) }));
}
