/**
 * Hosts that some DestinationRule names or balances by consistent hashing, whatever its visibility. Checked first: most services have no
 * rule, and for them nothing depends on the proxy's place, nor on the content of other rules. Policies of the Gateway API and XBackends
 * stand for DestinationRules, too (`@flotilla/gateway-api`).
 */
import {
  type BackendTlsSpec,
  type BackendTrafficSpec,
  backendTlsRules,
  type ExternalBackendSpec,
  externalBackendRules,
  isIgnoredPolicy,
  withTrafficPolicies,
} from "@flotilla/gateway-api";
import { type Config, hostCovers, isWildcard, type JsonObject, type TextOf, textCodec } from "@flotilla/model";
import type { DestinationRule, TrafficPolicy } from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import type { ServiceEntry } from "@flotilla/proto/networking/v1alpha3/service_entry_pb";
import type { RowIndex } from "../row-index.ts";
import { query, type View } from "../view.ts";

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

/** All that count, in one row. */
export const backendTlsPolicies: RowIndex<BackendTlsSpec> = {
  name: "backend-tls-policies",
  kind: "BackendTLSPolicy",
  keysOf: (policy) => (isIgnoredPolicy(policy) ? [] : ["all"]),
};

const policyRules = query<readonly Config<DestinationRule>[]>(
  "backend-tls-rules",
  (view) => {
    const targetOf = (kind: "Service" | "ServiceEntry", namespace: string, name: string) =>
      kind === "Service" ? serviceTarget(view, namespace, name) : entryTarget(view, namespace, name);
    const sources = { targetOf, hasRoot: (namespace: string, name: string) => hasRoot(view, namespace, name) };
    const rules = backendTlsRules(view.row(backendTlsPolicies, "all"), sources);
    return [
      ...withTrafficPolicies(rules, view.all<BackendTrafficSpec>("XBackendTrafficPolicy"), sources),
      ...view.all<ExternalBackendSpec>("XBackend").flatMap((backend) => externalBackendRules(backend, sources.hasRoot)),
    ];
  },
  (a, b) => JSON.stringify(a) === JSON.stringify(b),
);

/** Where the rules of a namespace for a host are found; those for wildcards all stand in the row of `*`. */
export const ruledHostRow = textCodec("RuledHostRow", "|", ["namespace", "host"]);
export type RuledHostRow = TextOf<typeof ruledHostRow>;

/** The row of a rule. */
export function rowOfRule(namespace: string, host: string): RuledHostRow {
  return ruledHostRow.write({ namespace, host: isWildcard(host) ? "*" : host });
}

/** As a policy's own namespace has them. */
export const backendTlsRulesByHost = query<readonly Config<DestinationRule>[], RuledHostRow>(
  "backend-tls-rules-by-host",
  (view, row) => view.read(policyRules).filter(({ key, spec }) => rowOfRule(key.namespace, spec.host) === row),
  (a, b) => a?.length === b.length && a.every((rule, index) => rule === b[index]),
);

/** Asked first: in most meshes nothing of a host depends on these policies. */
const hasBackendTls = query<boolean>("has-backend-tls", (view) => view.read(policyRules).length > 0);

function mayHaveBackendTls(view: View, hostname: string): boolean {
  return view.read(hasBackendTls) && view.read(isBackendTlsHost, hostname);
}

const isBackendTlsHost = query<boolean, string>("is-backend-tls-host", (view, hostname) =>
  view
    .read(policyRules)
    .some(({ spec: { host } }) => (isWildcard(host) ? hostCovers(host, hostname) : host === hostname)),
);

function serviceTarget(view: View, namespace: string, name: string) {
  const hostname = `${name}.${namespace}.svc.${view.feature("domainSuffix")}`;
  const service = [...view.serviceShards({ namespace, hostname }).values()].find(
    (one) => one.registry === "Kubernetes",
  );
  return service && { hosts: [hostname], ports: service.ports };
}

function entryTarget(view: View, namespace: string, name: string) {
  const entry = view.config<ServiceEntry>("ServiceEntry", namespace, name)?.spec;
  return entry && { hosts: entry.hosts, ports: entry.ports };
}

function hasRoot(view: View, namespace: string, name: string): boolean {
  const data = view.config<JsonObject>("ConfigMap", namespace, name)?.spec?.["data"] as JsonObject | undefined;
  return [data?.["ca.crt"], data?.["cacert"]].some((root) => typeof root === "string" && root !== "");
}
