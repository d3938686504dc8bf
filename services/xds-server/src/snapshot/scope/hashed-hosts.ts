/**
 * Which hosts some DestinationRule balances by consistent hashing, whoever may see it. Routes ask this first: as long
 * as the answer is no, they do not depend on the proxy's namespace and are shared by all.
 */
import { hostCovers, isWildcard } from "@flotilla/model";
import type { DestinationRule, TrafficPolicy } from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import type { RowIndex } from "../row-index.ts";
import type { View } from "../view.ts";

/** By the first label of the host; those for wildcards by `*`. */
export const hashingDestinationRules: RowIndex<DestinationRule> = {
  name: "hashing-destination-rules",
  kind: "DestinationRule",
  keysOf: ({ spec }) => {
    if (![spec.trafficPolicy, ...spec.subsets.map((subset) => subset.trafficPolicy)].some(hashes)) return [];
    return [isWildcard(spec.host) ? "*" : firstLabel(spec.host)];
  },
};

export function mayBeHashed(view: View, hostname: string): boolean {
  return (
    view.row(hashingDestinationRules, firstLabel(hostname)).length > 0 ||
    view.row(hashingDestinationRules, "*").some(({ spec }) => hostCovers(spec.host, hostname))
  );
}

function hashes(policy: TrafficPolicy | undefined): boolean {
  const balancers = [
    policy?.loadBalancer,
    ...(policy?.portLevelSettings ?? []).map(({ loadBalancer }) => loadBalancer),
  ];
  return balancers.some((balancer) => balancer?.lbPolicy.case === "consistentHash");
}

function firstLabel(host: string): string {
  return host.split(".", 1)[0] ?? "";
}
