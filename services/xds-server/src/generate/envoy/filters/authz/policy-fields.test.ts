/** Each field of a policy's rule as what Envoy asks: the permissions of operations and the principals of callers, written as text. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Permission, Principal } from "@flotilla/proto/envoy/config/rbac/v3/rbac_pb";
import type { HeaderMatcher } from "@flotilla/proto/envoy/config/route/v3/route_components_pb";
import type { MetadataMatcher } from "@flotilla/proto/envoy/type/matcher/v3/metadata_pb";
import type { StringMatcher } from "@flotilla/proto/envoy/type/matcher/v3/string_pb";
import type { ValueMatcher } from "@flotilla/proto/envoy/type/matcher/v3/value_pb";
import { neverPermission, permission } from "./permissions.ts";
import { neverPrincipal, principal } from "./principals.ts";
import type { Field } from "./rule.ts";
import { type Matching, NotForTcp } from "./rule.ts";

const http: Matching = { tcp: false, widens: false, namespace: "shop", trustDomains: ["cluster.local"] };

interface Case {
  readonly key: string;
  readonly values?: readonly string[];
  readonly notValues?: readonly string[];
  readonly asked: string;
}

const operations: readonly Case[] = [
  { key: "hosts", values: ["a.com", "*.b.com"], asked: "or(:authority exact/i a.com, :authority suffix/i .b.com)" },
  { key: "hosts", values: ["*"], asked: "or(:authority present)" },
  { key: "methods", values: ["GET"], asked: "or(:method exact GET)" },
  { key: "methods", notValues: ["GET"], asked: "not(or(:method exact GET))" },
  { key: "methods", values: ["GET"], notValues: ["P*"], asked: "or(:method exact GET), not(or(:method prefix P))" },
  {
    key: "paths",
    values: ["/a", "/b/*", "*/c", "*"],
    asked: "or(path exact /a, path prefix /b/, path suffix /c, path regex .+)",
  },
  { key: "paths", values: ["/a/{*}/b"], asked: "or(template /a/*/b)" },
  { key: "paths", values: ["/a/{**}"], asked: "or(template /a/**)" },
  { key: "paths", values: ["/a/{b}"], asked: "or(path exact /a/{b})" },
  { key: "destination.ip", values: ["10.0.0.0/8", "10.1.2.3"], asked: "or(to 10.0.0.0/8, to 10.1.2.3/32)" },
  { key: "destination.ip", values: ["nowhere"], asked: "" },
  { key: "destination.port", values: ["80", "443"], asked: "or(port 80, port 443)" },
  { key: "connection.sni", values: ["*.a.com"], asked: "or(sni suffix .a.com)" },
  { key: "unknown", values: ["a"], asked: "" },
  { key: "experimental.envoy.filters.a.b[key]", values: ["v"], asked: "envoy.filters.a.b[key] exact v" },
  { key: "experimental.envoy.filters.a.b[key]", notValues: ["v"], asked: "not(envoy.filters.a.b[key] exact v)" },
  { key: "experimental.envoy.filters.a.b[key]", values: ["[v]"], asked: "envoy.filters.a.b[key] list(exact v)" },
  {
    key: "experimental.envoy.filters.a.b[key]",
    values: ["v", "w*"],
    asked: "envoy.filters.a.b[key] or(exact v, prefix w)",
  },
];

const spiffe = "spiffe://cluster.local/ns/a/sa/b";
const jwt = "envoy.filters.http.jwt_authn[payload]";
const callers: readonly Case[] = [
  { key: "source.principal", values: ["cluster.local/ns/a/sa/b"], asked: `or(name exact ${spiffe})` },
  { key: "source.principal", values: ["*"], asked: "or(name regex .+)" },
  { key: "source.principal", values: ["*/sa/b"], asked: "or(name regex spiffe://.*/sa/b)" },
  {
    key: "source.principal",
    notValues: ["cluster.local/ns/a/*"],
    asked: "not(or(name prefix spiffe://cluster.local/ns/a/))",
  },
  { key: "source.namespace", values: ["a.b", "c*"], asked: "or(name regex .*/ns/a\\.b/.*, name regex .*/ns/c.*/.*)" },
  { key: "serviceAccounts", values: ["b"], asked: "or(name regex spiffe://.+/ns/shop/(.+/|)sa/b(/.+)?)" },
  { key: "source.serviceAccount", values: ["a/b"], asked: "or(name regex spiffe://.+/ns/a/(.+/|)sa/b(/.+)?)" },
  { key: "source.trustDomain", values: ["td"], asked: "or(name prefix spiffe://td/)" },
  { key: "source.trustDomain", values: ["*.td"], asked: "or(name regex spiffe://[^/]*\\.td/.*)" },
  { key: "source.ip", values: ["10.0.0.0/8"], asked: "or(direct 10.0.0.0/8)" },
  {
    key: "remote.ip",
    values: ["10.0.0.0/8"],
    notValues: ["10.1.0.0/16"],
    asked: "or(remote 10.0.0.0/8), not(or(remote 10.1.0.0/16))",
  },
  { key: "source.ip", values: ["nowhere"], asked: "" },
  { key: "request.headers[x-a]", values: ["v", "*"], asked: "or(x-a exact v, x-a present)" },
  { key: "request.auth.principal", values: ["i/s"], asked: `and(${jwt}[iss] exact i, ${jwt}[sub] exact s)` },
  {
    key: "request.auth.principal",
    values: ["https://i/s"],
    asked: `and(${jwt}[iss] exact https://i, ${jwt}[sub] exact s)`,
  },
  { key: "request.auth.principal", values: ["*"], asked: `and(${jwt}[iss] regex .+, ${jwt}[sub] regex .+)` },
  { key: "request.auth.principal", values: ["i*"], asked: `and(${jwt}[iss] prefix i, ${jwt}[sub] regex .+)` },
  { key: "request.auth.principal", values: ["*s"], asked: `and(${jwt}[iss] regex .+, ${jwt}[sub] suffix s)` },
  { key: "request.auth.principal", values: ["i"], asked: `and(${jwt}[iss] exact i, ${jwt}[sub] exact )` },
  {
    key: "request.auth.principal",
    values: ["a/b", "c/d"],
    asked: `or(and(${jwt}[iss] exact a, ${jwt}[sub] exact b), and(${jwt}[iss] exact c, ${jwt}[sub] exact d))`,
  },
  { key: "request.auth.principal", notValues: ["a/b"], asked: `not(and(${jwt}[iss] exact a, ${jwt}[sub] exact b))` },
  { key: "request.auth.audiences", values: ["a"], asked: `${jwt}[aud] or(list(exact a), exact a)` },
  { key: "request.auth.presenter", values: ["a"], asked: `${jwt}[azp] or(list(exact a), exact a)` },
  { key: "request.auth.claims[a][b]", notValues: ["c"], asked: `not(${jwt}[a][b] or(list(exact c), exact c))` },
  {
    key: "request.auth.claims[a]",
    values: ["b", "c"],
    asked: `${jwt}[a] or(list(or(exact b, exact c)), or(exact b, exact c))`,
  },
  { key: "unknown", values: ["a"], asked: "" },
];

describe("a field of an operation", () => {
  for (const one of operations)
    it(named(one), () => assert.equal(permissionText(permission([field(one)], http)), `and(${one.asked || "any"})`));
  it("is asked beside the others", () => {
    const fields = [field({ key: "methods", values: ["GET"] }), field({ key: "destination.port", values: ["80"] })];
    assert.equal(permissionText(permission(fields, http)), "and(or(:method exact GET), or(port 80))");
  });
});

describe("a field of a caller", () => {
  for (const one of callers)
    it(named(one), () => assert.equal(principalText(principal([field(one)], http)), `and(${one.asked || "any"})`));
  it("is asked in each trust domain of the mesh", () => {
    const matching = { ...http, trustDomains: ["new", "old"] };
    const text = principalText(principal([field({ key: "source.principal", values: ["new/ns/a/sa/b"] })], matching));
    assert.equal(text, "and(or(name exact spiffe://new/ns/a/sa/b, name exact spiffe://old/ns/a/sa/b))");
    const domains = principalText(principal([field({ key: "source.trustDomain", values: ["old", "x"] })], matching));
    assert.equal(domains, "and(or(name prefix spiffe://new/, name prefix spiffe://old/, name prefix spiffe://x/))");
  });
});

it("hosts of policies are compared without their case", () => {
  const text = permissionText(permission([field({ key: "hosts", values: ["A.com", "*.B.com"] })], http));
  assert.match(text, /exact\/i A\.com, :authority suffix\/i \.B\.com/);
});

describe("operators of regular expressions in names", () => {
  const names: readonly (readonly [key: string, value: string, meant: string, other: string])[] = [
    ["serviceAccounts", "a.b", "spiffe://td/ns/shop/sa/a.b", "spiffe://td/ns/shop/sa/aXb"],
    ["source.serviceAccount", "x.y/a", "spiffe://td/ns/x.y/sa/a", "spiffe://td/ns/xzy/sa/a"],
    ["source.serviceAccount", "x/a|b", "spiffe://td/ns/x/sa/a|b", "spiffe://td/ns/x/sa/a"],
    ["source.namespace", "a.b", "spiffe://td/ns/a.b/sa/c", "spiffe://td/ns/aXb/sa/c"],
    ["source.namespace", "a+(b)", "spiffe://td/ns/a+(b)/sa/c", "spiffe://td/ns/aab/sa/c"],
    ["source.principal", "*.b/ns/c/sa/d", "spiffe://a.b/ns/c/sa/d", "spiffe://aXb/ns/c/sa/d"],
    ["source.trustDomain", "*.td", "spiffe://a.td/ns/b/sa/c", "spiffe://aXtd/ns/b/sa/c"],
  ];
  for (const [key, value, meant, other] of names)
    it(`mean themselves: ${key} ${value}`, () => {
      const text = principalText(principal([field({ key, values: [value] })], http));
      const expression = new RegExp(`^(?:${/regex (.*)\)\)$/.exec(text)?.[1] ?? assert.fail(text)})$`);
      assert.deepEqual(
        [meant, other].map((identity) => expression.test(identity)),
        [true, false],
      );
    });
});

describe("no field", () => {
  it("lets everything through, and a policy without rules nothing", () => {
    assert.equal(permissionText(permission([], http)), "and(any)");
    assert.equal(principalText(principal([], http)), "and(any)");
    assert.equal(permissionText(neverPermission), "not(any)");
    assert.equal(principalText(neverPrincipal), "not(any)");
  });
});

describe("a connection that carries bytes", () => {
  const method = field({ key: "methods", values: ["GET"] });
  const port = field({ key: "destination.port", values: ["80"] });
  const header = field({ key: "request.headers[a]", values: ["b"] });
  const address = field({ key: "source.ip", values: ["10.0.0.1"] });
  it("meets no rule of ALLOW that asks for a request", () => {
    for (const key of ["hosts", "methods", "paths"])
      assert.throws(() => permission([field({ key, values: ["a"] }), port], { ...http, tcp: true }), NotForTcp);
    assert.throws(() => principal([header, address], { ...http, tcp: true }), NotForTcp);
  });
  it("is denied by what is left of a rule of DENY", () => {
    const denied = { ...http, tcp: true, widens: true };
    assert.equal(permissionText(permission([method, port], denied)), "and(or(port 80))");
    assert.equal(permissionText(permission([method], denied)), "and(any)");
    assert.equal(principalText(principal([header, address], denied)), "and(or(direct 10.0.0.1/32))");
  });
});

function field({ key, values = [], notValues = [] }: Omit<Case, "asked">): Field {
  return { key, values, notValues };
}

function named({ key, values = [], notValues = [] }: Case): string {
  return `${key} = ${values.join(", ")}${notValues.length > 0 ? ` and not ${notValues.join(", ")}` : ""}`;
}

function permissionText({ rule }: Permission): string {
  const list = (rules: readonly Permission[]) => rules.map(permissionText).join(", ");
  switch (rule.case) {
    case "any":
      return "any";
    case "andRules":
      return `and(${list(rule.value.rules)})`;
    case "orRules":
      return `or(${list(rule.value.rules)})`;
    case "notRule":
      return `not(${permissionText(rule.value)})`;
    case "header":
      return headerText(rule.value);
    case "urlPath":
      return `path ${rule.value.rule.case === "path" ? stringText(rule.value.rule.value) : "?"}`;
    case "uriTemplate":
      // Field 1 of the packed message is the template.
      return `template ${Buffer.from(rule.value.typedConfig?.value.subarray(2) ?? []).toString()}`;
    case "destinationIp":
      return `to ${rule.value.addressPrefix}/${rule.value.prefixLen}`;
    case "destinationPort":
      return `port ${rule.value}`;
    case "requestedServerName":
      return `sni ${stringText(rule.value)}`;
    case "metadata":
      return metadataText(rule.value);
    default:
      return `unexpected ${rule.case}`;
  }
}

function principalText({ identifier }: Principal): string {
  const list = (ids: readonly Principal[]) => ids.map(principalText).join(", ");
  switch (identifier.case) {
    case "any":
      return "any";
    case "andIds":
      return `and(${list(identifier.value.ids)})`;
    case "orIds":
      return `or(${list(identifier.value.ids)})`;
    case "notId":
      return `not(${principalText(identifier.value)})`;
    case "authenticated":
      return `name ${stringText(identifier.value.principalName)}`;
    case "directRemoteIp":
      return `direct ${identifier.value.addressPrefix}/${identifier.value.prefixLen}`;
    case "remoteIp":
      return `remote ${identifier.value.addressPrefix}/${identifier.value.prefixLen}`;
    case "header":
      return headerText(identifier.value);
    case "metadata":
      return metadataText(identifier.value);
    default:
      return `unexpected ${identifier.case}`;
  }
}

function headerText({ name, headerMatchSpecifier: specifier }: HeaderMatcher): string {
  return `${name} ${specifier.case === "stringMatch" ? stringText(specifier.value) : specifier.case === "presentMatch" ? "present" : "?"}`;
}

function metadataText({ filter, path, value }: MetadataMatcher): string {
  return `${filter}${path.map(({ segment }) => `[${segment.value}]`).join("")} ${value ? valueText(value) : "?"}`;
}

function valueText({ matchPattern: pattern }: ValueMatcher): string {
  if (pattern.case === "stringMatch") return stringText(pattern.value);
  if (pattern.case === "orMatch") return `or(${pattern.value.valueMatchers.map(valueText).join(", ")})`;
  if (pattern.case === "listMatch" && pattern.value.matchPattern.case === "oneOf")
    return `list(${valueText(pattern.value.matchPattern.value)})`;
  return "?";
}

function stringText(matcher: StringMatcher | undefined): string {
  const pattern = matcher?.matchPattern;
  if (pattern?.case === "safeRegex") return `regex ${pattern.value.regex}`;
  return `${pattern?.case}${matcher?.ignoreCase === true ? "/i" : ""} ${String(pattern?.value)}`;
}
