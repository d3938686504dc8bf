import assert from "node:assert/strict";
import { test } from "node:test";
import { fromJson, type JsonValue } from "@flotilla/proto";
import { MeshConfig_DefaultTrafficPolicySchema as DefaultsSchema } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import { DestinationRuleSchema } from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import { trafficPolicyOf, withDefaults } from "./traffic-policy.ts";

const limit = (maxConnections: number) => ({ connectionPool: { tcp: { maxConnections } } });
const onPort = (number: number, settings: object) => ({ port: { number }, ...settings });
const ejects = { outlierDetection: { consecutive5xxErrors: 5 } };

const cases = [
  { name: "nothing said", rule: {}, port: 80, subset: "", want: [undefined, undefined] },
  { name: "the rule's", rule: { trafficPolicy: { ...limit(1), ...ejects } }, port: 80, subset: "", want: [1, 5] },
  {
    name: "the port's instead of the rule's, which it does not inherit",
    rule: { trafficPolicy: { ...limit(1), ...ejects, portLevelSettings: [onPort(80, limit(2))] } },
    port: 80,
    subset: "",
    want: [2, undefined],
  },
  {
    name: "only on its port",
    rule: { trafficPolicy: { ...limit(1), portLevelSettings: [onPort(80, limit(2))] } },
    port: 81,
    subset: "",
    want: [1, undefined],
  },
  {
    name: "the subset's over the rule's",
    rule: { trafficPolicy: { ...limit(1), ...ejects }, subsets: [{ name: "v1", trafficPolicy: limit(3) }] },
    port: 80,
    subset: "v1",
    want: [3, 5],
  },
  {
    name: "the subset's port over all",
    rule: {
      trafficPolicy: limit(1),
      subsets: [{ name: "v1", trafficPolicy: { ...limit(3), portLevelSettings: [onPort(80, limit(4))] } }],
    },
    port: 80,
    subset: "v1",
    want: [4, undefined],
  },
];

for (const { name, rule, port, subset, want } of cases) {
  test(`traffic policy: ${name}`, () => {
    const spec = fromJson(DestinationRuleSchema, { host: "a", ...rule } as JsonValue);
    const policy = trafficPolicyOf(spec, port, subset);
    assert.deepEqual(
      [policy?.connectionPool?.tcp?.maxConnections, policy?.outlierDetection?.consecutive5xxErrors],
      want,
    );
  });
}

test("the mesh's defaults stand in part by part for what a policy does not say", () => {
  const defaults = fromJson(DefaultsSchema, { ...limit(1), ...ejects });
  const spec = fromJson(DestinationRuleSchema, { host: "a", trafficPolicy: limit(7) });
  const policy = withDefaults(defaults, trafficPolicyOf(spec, 80, ""));
  assert.equal(policy?.connectionPool?.tcp?.maxConnections, 7);
  assert.equal(policy?.outlierDetection?.consecutive5xxErrors, 5);
  assert.equal(withDefaults(undefined, undefined), undefined);
});
