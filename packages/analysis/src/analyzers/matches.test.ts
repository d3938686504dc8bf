/** Matches of routes and policies that no request meets, and those that an earlier match takes. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@flotilla/model";
import { MeshAnalysis } from "../mesh-analysis.ts";
import { type MeshObject, meshObject } from "../mesh-object.ts";
import { impossibleMatches, impossibleRules } from "./impossible-conditions.ts";
import { shadowedMatches } from "./shadowed-matches.ts";

function anObject(apiVersion: string, kind: string, name: string, spec: JsonObject): MeshObject {
  const found = meshObject({ apiVersion, kind, metadata: { name, namespace: "shop" }, spec });
  assert.ok(found !== undefined, name);
  return found;
}
const aService = (name: string, ...ports: readonly number[]) =>
  anObject("v1", "Service", name, { ports: ports.map((port) => ({ name: `p-${port}`, port })) });
const aRoute = (spec: JsonObject) =>
  anObject("networking.istio.io/v1", "VirtualService", "v", { hosts: ["web"], ...spec });
const withMatches = (...match: readonly JsonObject[]) => ({ http: [{ match: [...match] }] });

/** `field: message` of each finding. */
function found(objects: readonly MeshObject[]): readonly string[] {
  const tools = { nowMs: () => 0, validityOf: () => ({ notBeforeMs: 0, notAfterMs: 1 }) };
  const analysis = new MeshAnalysis([impossibleMatches, impossibleRules, shadowedMatches], tools);
  analysis.apply(objects.map((object) => ({ object })));
  return analysis.findings().map(({ field, message }) => `${field}: ${message}`);
}

describe("a match that no request meets", () => {
  const services = [aService("web", 80, 8080), aService("db", 5432)];
  const cases: readonly { readonly name: string; readonly spec: JsonObject; readonly reason?: RegExp }[] = [
    {
      name: "none",
      spec: withMatches({ uri: { prefix: "/a" }, method: { exact: "GET" }, scheme: { exact: "https" } }),
    },
    {
      name: "a path without a slash",
      spec: withMatches({ uri: { exact: "a" } }),
      reason: /uri\.exact: .*begin with a slash/,
    },
    { name: "an empty prefix", spec: withMatches({ uri: { prefix: "" } }) },
    { name: "any path", spec: withMatches({ uri: { prefix: "*" } }) },
    { name: "an expression, which may be anything", spec: withMatches({ uri: { regex: "a" } }) },
    {
      name: "a method in lower case",
      spec: withMatches({ method: { exact: "get" } }),
      reason: /method\.exact: .*upper case/,
    },
    {
      name: "another scheme",
      spec: withMatches({ scheme: { exact: "ftp" } }),
      reason: /scheme\.exact: .*http and https/,
    },
    {
      name: "a header that is asked for and excluded",
      spec: withMatches({ headers: { a: { exact: "1" } }, withoutHeaders: { a: {} } }),
      reason: /header a is asked for and excluded/,
    },
    {
      name: "a header without one of its values",
      spec: withMatches({ headers: { a: {} }, withoutHeaders: { a: { exact: "1" } } }),
    },
    { name: "a header without another", spec: withMatches({ headers: { a: {} }, withoutHeaders: { b: {} } }) },
    {
      name: "a gateway that the routes are not for",
      spec: { gateways: ["edge", "mesh"], ...withMatches({ gateways: ["other"] }) },
      reason: /the VirtualService is for edge, mesh/,
    },
    {
      name: "one gateway of those that the routes are for",
      spec: { gateways: ["edge"], ...withMatches({ gateways: ["other", "edge"] }) },
    },
    {
      name: "a gateway where the routes are the mesh's",
      spec: withMatches({ gateways: ["edge"] }),
      reason: /is for mesh/,
    },
    { name: "a port of the host", spec: withMatches({ port: 8080 }) },
    {
      name: "a port that the host lacks",
      spec: withMatches({ port: 81 }),
      reason: /port: .*the ports of the hosts are 80, 8080/,
    },
    { name: "a port of one of the hosts", spec: { hosts: ["web", "db"], ...withMatches({ port: 5432 }) } },
    {
      name: "a port that no host has",
      spec: { hosts: ["web", "db"], ...withMatches({ port: 81 }) },
      reason: /are 80, 8080, 5432/,
    },
    { name: "a port where a host is unknown", spec: { hosts: ["web", "lost"], ...withMatches({ port: 81 }) } },
    { name: "a port of an unknown host", spec: { hosts: ["lost"], ...withMatches({ port: 81 }) } },
    { name: "a port at a gateway", spec: { gateways: ["edge"], ...withMatches({ port: 81 }) } },
    {
      name: "a port in the mesh by name",
      spec: { gateways: ["mesh"], ...withMatches({ port: 81 }) },
      reason: /are 80, 8080/,
    },
    { name: "a port of connections", spec: { tcp: [{ match: [{ port: 81 }] }] }, reason: /tcp\[0\]\.match\[0\]\.port/ },
  ];
  for (const { name, spec, reason } of cases)
    it(`${reason === undefined ? "is not" : "is"} ${name}`, () => {
      const findings = found([...services, aRoute(spec)]);
      if (reason === undefined) assert.deepEqual(findings, []);
      else {
        assert.equal(findings.length, 1, findings.join("\n"));
        assert.match(findings[0] ?? "", reason);
      }
    });
});

describe("a rule that no request meets", () => {
  const to = (operation: JsonObject) => ({ to: [{ operation }] });
  const from = (source: JsonObject) => ({ from: [{ source }] });
  const cases: readonly { readonly name: string; readonly rule: JsonObject; readonly at?: string }[] = [
    {
      name: "has a path without a slash",
      rule: to({ paths: ["/a", "b"] }),
      at: "spec.rules[0].to[0].operation.paths[1]",
    },
    { name: "has a pattern", rule: to({ paths: ["*/a", "{*}", "/b"] }) },
    {
      name: "has a method in lower case",
      rule: to({ methods: ["GET", "post"] }),
      at: "spec.rules[0].to[0].operation.methods[1]",
    },
    {
      name: "excludes its hosts",
      rule: to({ hosts: ["a"], notHosts: ["a", "b"] }),
      at: "spec.rules[0].to[0].operation.hosts",
    },
    { name: "excludes some of its ports", rule: to({ ports: ["80", "81"], notPorts: ["80"] }) },
    {
      name: "excludes its namespaces",
      rule: from({ namespaces: ["a"], notNamespaces: ["a"] }),
      at: "spec.rules[0].from[0].source.namespaces",
    },
    {
      name: "excludes its principals",
      rule: from({ requestPrincipals: ["a"], notRequestPrincipals: ["a"] }),
      at: "spec.rules[0].from[0].source.requestPrincipals",
    },
    { name: "excludes what it does not ask for", rule: from({ notNamespaces: ["a"] }) },
  ];
  for (const { name, rule, at } of cases)
    it(`${at === undefined ? "is not one that" : "is one that"} ${name}`, () => {
      const policy = anObject("security.istio.io/v1", "AuthorizationPolicy", "p", { rules: [rule] });
      assert.deepEqual(
        found([policy]).map((text) => text.split(": ")[0]),
        at === undefined ? [] : [at],
      );
    });
});

describe("a match that an earlier one takes", () => {
  const uri = (kind: string, value: string) => ({ uri: { [kind]: value } });
  const header = (name: string, match: JsonObject) => ({ headers: { [name]: match } });
  const cases: readonly {
    readonly name: string;
    readonly wide: JsonObject;
    readonly narrow: JsonObject;
    readonly takes: boolean;
  }[] = [
    { name: "a text under a prefix", wide: uri("prefix", "/a"), narrow: uri("exact", "/ab"), takes: true },
    { name: "a text beside a prefix", wide: uri("prefix", "/a"), narrow: uri("exact", "/b"), takes: false },
    {
      name: "prefixes, of which validation warns",
      wide: uri("prefix", "/a"),
      narrow: uri("prefix", "/ab"),
      takes: false,
    },
    { name: "any text", wide: uri("regex", ".*"), narrow: uri("exact", "/a"), takes: true },
    { name: "no text by any text", wide: uri("regex", ".*"), narrow: { method: { exact: "GET" } }, takes: false },
    {
      name: "the same expression",
      wide: uri("regex", "/a+"),
      narrow: { ...uri("regex", "/a+"), method: { exact: "GET" } },
      takes: true,
    },
    { name: "another expression", wide: uri("regex", "/a+"), narrow: uri("regex", "/b+"), takes: false },
    {
      name: "everything by the root path",
      wide: uri("prefix", "/"),
      narrow: { method: { exact: "GET" } },
      takes: true,
    },
    { name: "no path by another path", wide: uri("prefix", "/a"), narrow: { method: { exact: "GET" } }, takes: false },
    {
      name: "a text of one case by any case",
      wide: { ...uri("exact", "/a"), ignoreUriCase: true },
      narrow: { ...uri("exact", "/a"), method: { exact: "GET" } },
      takes: true,
    },
    {
      name: "a text of any case by one case",
      wide: uri("exact", "/a"),
      narrow: { ...uri("exact", "/a"), ignoreUriCase: true },
      takes: false,
    },
    { name: "a header that is there", wide: header("a", {}), narrow: header("a", { exact: "1" }), takes: true },
    { name: "a header that may be missing", wide: header("a", {}), narrow: uri("exact", "/a"), takes: false },
    {
      name: "a header of a prefix",
      wide: header("a", { prefix: "x" }),
      narrow: header("a", { exact: "xy" }),
      takes: true,
    },
    {
      name: "a header of another prefix",
      wide: header("a", { prefix: "x" }),
      narrow: header("a", { exact: "yx" }),
      takes: false,
    },
    { name: "a port", wide: { port: 80 }, narrow: { port: 80, method: { exact: "GET" } }, takes: true },
    { name: "another port", wide: { port: 80 }, narrow: { port: 81 }, takes: false },
    {
      name: "callers of a namespace",
      wide: { sourceNamespace: "a" },
      narrow: { sourceNamespace: "a", port: 80 },
      takes: true,
    },
    {
      name: "callers of another namespace",
      wide: { sourceNamespace: "a" },
      narrow: { sourceNamespace: "b" },
      takes: false,
    },
    {
      name: "callers with a label",
      wide: { sourceLabels: { a: "1" } },
      narrow: { sourceLabels: { a: "1", b: "2" } },
      takes: true,
    },
    {
      name: "callers with another label",
      wide: { sourceLabels: { a: "1" } },
      narrow: { sourceLabels: { b: "2" } },
      takes: false,
    },
    { name: "one of the gateways", wide: { gateways: ["a", "b"] }, narrow: { gateways: ["b"] }, takes: true },
    { name: "another gateway", wide: { gateways: ["a"] }, narrow: { gateways: ["a", "b"] }, takes: false },
    { name: "all gateways", wide: { gateways: ["a"] }, narrow: { port: 80 }, takes: false },
    {
      name: "a header's absence",
      wide: { withoutHeaders: { a: {} } },
      narrow: { withoutHeaders: { a: {} }, port: 80 },
      takes: true,
    },
    {
      name: "a header's absence that is not asked for",
      wide: { withoutHeaders: { a: {} } },
      narrow: { port: 80 },
      takes: false,
    },
  ];
  for (const { name, wide, narrow, takes } of cases)
    it(`${takes ? "is one of" : "is not one of"} ${name}`, () => {
      const gateways = { gateways: ["a", "b", "mesh"] };
      const findings = found([aRoute({ ...gateways, ...withMatches(wide, narrow) })]);
      assert.deepEqual(findings.filter((text) => text.includes("match[1]")).length, takes ? 1 : 0, findings.join("\n"));
    });
});
