/** Random VirtualServices, AuthorizationPolicies and requests: few values, so that they meet. */
import { fc } from "@flotilla/testkit";
import type { Operation, Policy, Rule, Source } from "../../reference/policy.ts";

interface RandomRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A service with a VirtualService, a workload with policies, and what is asked of both. */
export interface Round {
  readonly routes: readonly object[];
  readonly policies: readonly Policy[];
  readonly requests: readonly RandomRequest[];
}

/** Services that routes lead to, and subsets of the words that paths are made of. */
export const destinations = ["d0", "d1", "d2"];
const paths = ["/", "/a", "/A", "/a/", "/a/b", "/ab", "/b?q=1", "/a?q=2", "/a/b?q=", "/c%20d", "/admin"];
const plainPaths = ["/", "/a", "/A", "/a/b", "/ab", "/b", "/admin"];
const some = <Value>(values: fc.Arbitrary<Value>, maxLength = 2) => fc.array(values, { minLength: 1, maxLength });

const text = fc.oneof(
  fc.record({ exact: fc.constantFrom("1", "2", "") }).filter(({ exact }) => exact !== ""),
  fc.record({ prefix: fc.constantFrom("1", "a") }),
  fc.record({ regex: fc.constantFrom("[12]", "a.*", ".+") }),
);
const uri = fc.oneof(
  fc.record({ exact: fc.constantFrom(...plainPaths) }),
  fc.record({ prefix: fc.constantFrom(...plainPaths) }),
  fc.record({ regex: fc.constantFrom("/a.*", "/[ab]", "/.*b") }),
);
const headerName = fc.constantFrom("x-a", "x-b");
const optional = { requiredKeys: [] };

const match = fc.record(
  {
    uri,
    ignoreUriCase: fc.boolean(),
    method: fc.record({ exact: fc.constantFrom("GET", "POST") }),
    headers: fc.dictionary(headerName, fc.oneof(text, fc.constant({})), { minKeys: 1, noNullPrototype: true }),
    withoutHeaders: fc.dictionary(headerName, fc.oneof(text, fc.constant({})), { minKeys: 1, noNullPrototype: true }),
    queryParams: fc.dictionary(fc.constant("q"), fc.record({ exact: fc.constantFrom("1", "2") }), {
      minKeys: 1,
      noNullPrototype: true,
    }),
  },
  optional,
);
const action = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...destinations).map((host) => ({ route: [{ destination: { host } }] })) },
  { weight: 1, arbitrary: fc.constantFrom(418, 451).map((status) => ({ directResponse: { status } })) },
  { weight: 1, arbitrary: fc.constantFrom("/x", "/y").map((path) => ({ redirect: { uri: path, authority: "z" } })) },
);
const route = fc
  .tuple(fc.option(fc.array(match, { minLength: 1, maxLength: 2 }), { nil: undefined }), action)
  .map(([matches, does]) => ({ ...(matches && { match: matches }), ...does }));

const patterns = ["/", "/a", "/a*", "*b", "*", "/admin", "/a/*"];
const operation: fc.Arbitrary<Operation> = fc.record(
  {
    paths: some(fc.constantFrom(...patterns)),
    notPaths: some(fc.constantFrom(...patterns)),
    methods: some(fc.constantFrom("GET", "POST", "*", "P*")),
    notMethods: some(fc.constantFrom("GET", "POST", "*T")),
    hosts: some(fc.constantFrom("w.example", "W.*", "*.example", "other")),
    notHosts: some(fc.constantFrom("w.example", "*.other")),
  },
  optional,
);
const block = fc.constantFrom("127.0.0.1", "127.0.0.0/8", "10.0.0.0/8");
const source: fc.Arbitrary<Source> = fc.record(
  {
    ipBlocks: some(block),
    notIpBlocks: some(block),
    principals: some(fc.constantFrom("*", "cluster.local/ns/shop/sa/a")),
    notPrincipals: some(fc.constantFrom("*", "cluster.local/ns/shop/sa/a")),
    notNamespaces: some(fc.constantFrom("shop", "*")),
  },
  optional,
);
const condition = fc
  .record(
    {
      key: headerName.map((name) => `request.headers[${name}]`),
      values: some(fc.constantFrom("1", "a*", "*2", "*")),
      notValues: some(fc.constantFrom("1", "a*", "*")),
    },
    { requiredKeys: ["key"] },
  )
  .filter(({ values, notValues }) => values !== undefined || notValues !== undefined);
const isAsking = (value: object) => Object.keys(value).length > 0;
const rule: fc.Arbitrary<Rule> = fc.record(
  {
    from: some(fc.record({ source: source.filter(isAsking) })),
    to: some(fc.record({ operation: operation.filter(isAsking) })),
    when: some(condition),
  },
  optional,
);
const policy: fc.Arbitrary<Policy> = fc.record(
  { action: fc.constantFrom("ALLOW", "DENY"), rules: fc.array(rule, { minLength: 1, maxLength: 2 }) },
  { requiredKeys: ["action"] },
);

const request: fc.Arbitrary<RandomRequest> = fc.record({
  method: fc.constantFrom("GET", "POST", "PUT"),
  path: fc.constantFrom(...paths),
  headers: fc.dictionary(headerName, fc.constantFrom("1", "2", "12", "ab", "b"), { noNullPrototype: true }),
});

export const round: fc.Arbitrary<Round> = fc
  .record({
    routes: fc.array(route, { minLength: 1, maxLength: 3 }),
    policies: fc.array(policy, { maxLength: 3 }),
    requests: fc.array(request, { minLength: 4, maxLength: 4 }),
  })
  // As objects read from YAML: with the usual prototype.
  .map((value) => JSON.parse(JSON.stringify(value)) as Round);
