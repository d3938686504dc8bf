/** Hashing of requests: the closest setting of a rule, and its form in Envoy. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fromJson, type JsonObject, toJson } from "@flotilla/proto";
import { RouteAction_HashPolicySchema } from "@flotilla/proto/envoy/config/route/v3/route_components_pb";
import {
  DestinationRuleSchema,
  LoadBalancerSettings_ConsistentHashLBSchema,
} from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import { consistentHashOf, hashPolicy } from "./hash-policy.ts";

const by = (httpHeaderName: string) => ({ loadBalancer: { consistentHash: { httpHeaderName } } });
const simple = { loadBalancer: { simple: "RANDOM" } };
const atPort = (number: number, policy: JsonObject) => ({ portLevelSettings: [{ port: { number }, ...policy }] });

describe("the hash of a destination", () => {
  const cases: readonly (readonly [name: string, rule: JsonObject, is: string | undefined])[] = [
    ["is the rule's", { trafficPolicy: by("rule") }, "rule"],
    ["is that of the rule's port", { trafficPolicy: { ...by("rule"), ...atPort(80, by("port")) } }, "port"],
    ["is not that of another port", { trafficPolicy: { ...by("rule"), ...atPort(81, by("port")) } }, "rule"],
    [
      "is that of the subset",
      { trafficPolicy: atPort(80, by("port")), subsets: [{ name: "v1", trafficPolicy: by("subset") }] },
      "subset",
    ],
    [
      "is that of the subset's port",
      { subsets: [{ name: "v1", trafficPolicy: { ...by("subset"), ...atPort(80, by("its port")) } }] },
      "its port",
    ],
    [
      "is not that of another subset",
      { trafficPolicy: by("rule"), subsets: [{ name: "v2", trafficPolicy: by("subset") }] },
      "rule",
    ],
    ["is none with another balancer", { trafficPolicy: simple }, undefined],
    ["is none without a policy", {}, undefined],
  ];
  for (const [name, rule, is] of cases)
    it(name, () => {
      const hash = consistentHashOf(fromJson(DestinationRuleSchema, { host: "h", ...rule }), "v1", 80);
      assert.equal(hash?.hashKey.value, is);
    });
  it("of a subset without a name is none of the rule's subsets", () => {
    const rule = fromJson(DestinationRuleSchema, { subsets: [{ name: "", trafficPolicy: by("subset") }] });
    assert.equal(consistentHashOf(rule, "", 80), undefined);
  });
});

describe("a policy of hashing", () => {
  const policyOf = (json: JsonObject) => {
    const policy = hashPolicy(fromJson(LoadBalancerSettings_ConsistentHashLBSchema, json));
    return policy && toJson(RouteAction_HashPolicySchema, policy);
  };
  const cases: readonly (readonly [name: string, json: JsonObject, is: JsonObject | undefined])[] = [
    ["by header", { httpHeaderName: "x" }, { header: { headerName: "x" } }],
    ["by source address", { useSourceIp: true }, { connectionProperties: { sourceIp: true } }],
    ["by query parameter", { httpQueryParameterName: "q" }, { queryParameter: { name: "q" } }],
    [
      "by cookie",
      { httpCookie: { name: "c", path: "/p", ttl: "5s", attributes: [{ name: "SameSite", value: "Lax" }] } },
      { cookie: { name: "c", path: "/p", ttl: "5s", attributes: [{ name: "SameSite", value: "Lax" }] } },
    ],
    ["by cookie of the session", { httpCookie: { name: "c" } }, { cookie: { name: "c" } }],
    ["by nothing", {}, undefined],
  ];
  for (const [name, json, is] of cases) it(name, () => assert.deepEqual(policyOf(json), is));
});
