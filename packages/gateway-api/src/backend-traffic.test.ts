/** Retry budgets of XBackendTrafficPolicies, in the rules of their targets. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Config } from "@flotilla/model";
import { create } from "@flotilla/proto";
import { DestinationRuleSchema } from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import { parentsAnnotation, policyRuleKey } from "./backend-tls.ts";
import { type BackendTrafficSpec, withTrafficPolicies } from "./backend-traffic.ts";

const service = { group: "", kind: "Service", name: "web" };
const entry = { group: "networking.istio.io", kind: "ServiceEntry", name: "out" };
const host = "web.shop.svc.cluster.local";
const budget = (percent: number): BackendTrafficSpec => ({
  targetRefs: [service],
  retryConstraint: { budget: { percent, interval: "10s" }, minRetryRate: { count: 3 } },
});
const sources = {
  targetOf: (kind: string, namespace: string, name: string) => {
    if (name === "missing" || namespace !== "shop") return undefined;
    return { hosts: kind === "Service" ? [`${name}.shop.svc.cluster.local`] : ["a.example", "b.example"], ports: [] };
  },
};
const policy = (name: string, spec: BackendTrafficSpec, more: object = {}): Config<BackendTrafficSpec> => ({
  key: { kind: "XBackendTrafficPolicy", namespace: "shop", name },
  ...{ creationTimeMs: 1, labels: {}, annotations: {}, spec, ...more },
});

/** Of each rule its host and the percent of its budget. */
function budgets(...policies: readonly Config<BackendTrafficSpec>[]) {
  return withTrafficPolicies([], policies, sources).map(({ spec: { host: of, trafficPolicy } }) => {
    const { percent } = (trafficPolicy?.retryBudget ?? {}) as {
      readonly percent?: { readonly value?: number } | number;
    };
    return [of, typeof percent === "object" ? percent.value : percent];
  });
}

describe("the retry budget of a Service", () => {
  it("stands in a rule of its own with all that the policy says", () => {
    const [rule] = withTrafficPolicies([], [policy("p", budget(20))], sources);
    assert.deepEqual(rule?.key, policyRuleKey("shop", service, host));
    assert.equal(rule?.annotations[parentsAnnotation], "XBackendTrafficPolicy/shop.p");
    const { retryBudget, loadBalancer } = rule?.spec.trafficPolicy ?? {};
    assert.ok(loadBalancer);
    assert.deepEqual([retryBudget?.minRetryConcurrency, Number(retryBudget?.budgetInterval?.seconds)], [3, 10]);
  });

  it("of two policies is that of the older", () => {
    const [older, newer] = [policy("z", budget(20)), policy("a", budget(30), { creationTimeMs: 2 })];
    assert.deepEqual(budgets(newer, older), [[host, 20]]);
    assert.deepEqual(budgets(policy("b", budget(1)), policy("a", budget(2))), [[host, 2]]);
  });

  it("is none of policies that are ignored, and of targets that are not there or of another kind", () => {
    const ignored = { annotations: { "gateway.istio.io/ignore-backend-traffic-policy": "true" } };
    assert.ok(budgets(policy("p", budget(20), ignored)).length <= 1);
    for (const ref of [
      { ...service, name: "missing" },
      { ...service, kind: "Pod" },
      { group: "x", kind: "Service", name: "web" },
    ])
      assert.deepEqual(budgets(policy("p", { ...budget(20), targetRefs: [ref] })), []);
    assert.deepEqual(budgets(policy("p", {})), []);
    const elsewhere = { key: { kind: "XBackendTrafficPolicy", namespace: "other", name: "p" } };
    assert.deepEqual(budgets(policy("p", budget(20), elsewhere)), []);
  });

  it("is one for each host of a ServiceEntry", () => {
    assert.deepEqual(budgets(policy("p", { ...budget(20), targetRefs: [entry, service] })), [
      ["a.example", 20],
      ["b.example", 20],
      [host, 20],
    ]);
  });

  it("is added to what another policy says of the target, whose parents stay", () => {
    const key = policyRuleKey("shop", service, host);
    const before = {
      ...{ key, creationTimeMs: 0, labels: {}, annotations: { [parentsAnnotation]: "BackendTLSPolicy/shop.z" } },
      spec: create(DestinationRuleSchema, { host, trafficPolicy: { portLevelSettings: [{ port: { number: 443 } }] } }),
    };
    const other = { ...before, key: { ...key, name: "other" } };
    const [rule, untouched, ...more] = withTrafficPolicies([before, other], [policy("p", budget(20))], sources);
    assert.equal(rule?.annotations[parentsAnnotation], "XBackendTrafficPolicy/shop.p,BackendTLSPolicy/shop.z");
    assert.equal(rule?.spec.trafficPolicy?.portLevelSettings.length, 1);
    assert.ok(rule?.spec.trafficPolicy?.retryBudget);
    assert.deepEqual([untouched, more], [other, []]);
  });

  it("has only what is set", () => {
    const spec = (retryConstraint?: BackendTrafficSpec["retryConstraint"]) =>
      withTrafficPolicies(
        [],
        [policy("p", { targetRefs: [service], ...(retryConstraint && { retryConstraint }) })],
        sources,
      )[0]?.spec.trafficPolicy?.retryBudget;
    assert.equal(spec(), undefined);
    const none = spec({});
    assert.deepEqual([none?.percent, none?.budgetInterval, none?.minRetryConcurrency], [undefined, undefined, 0]);
  });
});
