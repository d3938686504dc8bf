/** Random policies of workloads that take mutual TLS and tokens, and who calls them: few values, so that they meet. */
import { fc } from "@flotilla/testkit";
import type { Claims, Condition, Operation, Peer, Policy, Rule, Source } from "../../reference/policy.ts";

/** A certificate of each is issued; `undefined` calls in plain text. */
export const peers = {
  "shop/a": { trustDomain: "cluster.local", namespace: "shop", account: "a" },
  "shop/b": { trustDomain: "cluster.local", namespace: "shop", account: "b" },
  "other/a": { trustDomain: "cluster.local", namespace: "other", account: "a" },
  alias: { trustDomain: "old.domain", namespace: "shop", account: "a" },
} as const satisfies Record<string, Peer>;
export type PeerName = keyof typeof peers;
export const trustDomains = ["cluster.local", "old.domain"];

interface Token {
  readonly claims: Claims & { readonly iss: string };
  /** By a key that its issuer does not have. */
  readonly isForged?: true;
}

export const tokens = {
  one: { claims: { iss: "one", sub: "s1", aud: "web", role: "admin", groups: ["x", "y"] } },
  two: { claims: { iss: "two", sub: "s2", aud: ["web", "api"], role: ["dev", "admin"], groups: "x" } },
  forged: { claims: { iss: "one", sub: "s1", role: "admin" }, isForged: true },
} as const satisfies Record<string, Token>;
export type TokenName = keyof typeof tokens;
export const issuers = ["one", "two"] as const;

export interface IdentityRequest {
  readonly peer?: PeerName;
  readonly token?: TokenName;
  readonly method: string;
  readonly path: string;
}

/** A workload with an HTTP and a TCP port, its policies, and what is asked of both. */
export interface IdentityRound {
  readonly mode: "STRICT" | "PERMISSIVE";
  /** Whose tokens its RequestAuthentication checks; without any it has none. */
  readonly issuers: readonly string[];
  readonly policies: readonly Policy[];
  readonly requests: readonly IdentityRequest[];
  readonly connections: readonly { readonly peer?: PeerName }[];
}

const some = (...values: readonly string[]) => fc.array(fc.constantFrom(...values), { minLength: 1, maxLength: 2 });
const optional = { requiredKeys: [] };
/** Without the fields that were left out, and with one at least. */
function given<Shape extends object>(drawn: fc.Arbitrary<object>): fc.Arbitrary<Shape> {
  return drawn
    .map((value) => JSON.parse(JSON.stringify(value)) as Shape)
    .filter((value) => Object.keys(value).length > 0);
}
/** Most fields are left out, so that rules match now and then. */
const rarely = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.option(arbitrary, { nil: undefined, freq: 2 });

const principals = some(
  ...["*", "cluster.local/ns/shop/sa/a", "cluster.local/ns/shop/sa/*", "cluster.local/ns/shop/*", "*/sa/a"],
  ...["old.domain/ns/shop/sa/a", "old.domain/*", "cluster.local/ns/other/sa/a"],
);
const namespaces = some("shop", "other", "sh*", "*");
const requestPrincipals = some("*", "one/s1", "one/*", "*/s2", "two/s1");
const accounts = some("a", "b", "shop/a", "other/a");

const source = fc.record(
  {
    principals: rarely(principals),
    notPrincipals: rarely(principals),
    namespaces: rarely(namespaces),
    notNamespaces: rarely(namespaces),
    requestPrincipals: rarely(requestPrincipals),
    notRequestPrincipals: rarely(requestPrincipals),
  },
  optional,
);
/** Not beside principals and namespaces: an API server refuses that. */
const bySource = fc.oneof(
  { weight: 4, arbitrary: source },
  { weight: 1, arbitrary: fc.record({ serviceAccounts: accounts, notServiceAccounts: accounts }, optional) },
);
/** `HTTP` and `TCP` stand for the ports of the workload. */
const ports = some("HTTP", "TCP", "1");
const operation = fc.record(
  {
    ports: rarely(ports),
    notPorts: rarely(ports),
    methods: rarely(some("GET", "P*")),
    paths: rarely(some("/a", "/a*")),
  },
  optional,
);
const condition = given<Condition>(
  fc.oneof(
    fc.record({ key: fc.constant("request.auth.claims[role]"), values: rarely(some("admin", "d*", "*")) }),
    fc.record({ key: fc.constant("request.auth.claims[groups]"), notValues: rarely(some("x", "y", "*")) }),
    fc.record({ key: fc.constant("request.auth.audiences"), values: rarely(some("api", "w*")) }),
    fc.record({ key: fc.constant("source.namespace"), values: rarely(namespaces), notValues: rarely(namespaces) }),
    fc.record({ key: fc.constant("source.principal"), values: rarely(principals), notValues: rarely(principals) }),
    fc.record({ key: fc.constant("destination.port"), values: rarely(ports), notValues: rarely(ports) }),
  ),
).filter(({ values, notValues }) => values !== undefined || notValues !== undefined);
const few = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.array(arbitrary, { minLength: 1, maxLength: 2 });
const rule: fc.Arbitrary<Rule> = fc.record(
  {
    from: few(given<Source>(bySource).map((one) => ({ source: one }))),
    to: few(given<Operation>(operation).map((one) => ({ operation: one }))),
    when: few(condition),
  },
  optional,
);
const policy: fc.Arbitrary<Policy> = fc.record({
  action: fc.constantFrom("ALLOW", "DENY"),
  rules: fc.array(rule, { minLength: 1, maxLength: 2 }),
});

const peer = fc.option(fc.constantFrom(...(Object.keys(peers) as PeerName[])), { nil: undefined });
const token = fc.option(fc.constantFrom(...(Object.keys(tokens) as TokenName[])), { nil: undefined, freq: 2 });
const request = fc.record({
  peer,
  token,
  method: fc.constantFrom("GET", "POST"),
  path: fc.constantFrom("/", "/a", "/ab"),
});

export const identityRound: fc.Arbitrary<IdentityRound> = fc
  .record({
    mode: fc.constantFrom("STRICT", "PERMISSIVE"),
    issuers: fc.subarray([...issuers]),
    policies: fc.array(policy, { maxLength: 3 }),
    requests: fc.array(request, { minLength: 4, maxLength: 4 }),
    connections: fc.array(fc.record({ peer }), { minLength: 2, maxLength: 2 }),
  })
  // As objects read from YAML: with the usual prototype.
  .map((value) => JSON.parse(JSON.stringify(value)) as IdentityRound);
