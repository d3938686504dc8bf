/**
 * Which hosts some DestinationRule speaks of or balances by consistent hashing, whoever may see it. Asked first: most services have no
 * rule, and for them nothing depends on where the proxy is, nor on what other rules say.
 */
import { hostCovers, isWildcard } from "@flotilla/model";
import type { DestinationRule, TrafficPolicy } from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import type { RowIndex } from "../row-index.ts";
import type { View } from "../view.ts";
import { mayHaveBackendTls } from "./backend-tls.ts";

interface RuledHost {
  readonly host: string;
}

/** By the first label of the host; those for wildcards by `*`. */
export const ruledHosts: RowIndex<DestinationRule> = {
  name: "ruled-hosts",
  kind: "DestinationRule",
  keysOf: ({ spec: { host } }) => [isWildcard(host) ? "*" : firstLabel(host)],
  project: ({ key, creationTimeMs, spec: { host } }) => {
    return { key, creationTimeMs, labels: {}, annotations: {}, spec: { host } satisfies RuledHost };
  },
};

export function mayHaveRule(view: View, hostname: string): boolean {
  const index = ruledHosts as RowIndex<unknown> as RowIndex<RuledHost>;
  return (
    view.row(index, firstLabel(hostname)).length > 0 ||
    mayHaveBackendTls(view, hostname) ||
    view.row(index, "*").some(({ spec: { host } }) => hostCovers(host, hostname))
  );
}

function firstLabel(host: string): string {
  return host.split(".", 1)[0] ?? "";
}

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
