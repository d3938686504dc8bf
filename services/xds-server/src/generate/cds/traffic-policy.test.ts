import assert from "node:assert/strict";
import { test } from "node:test";
import { fromJson, type JsonValue } from "@flotilla/proto";
import { DestinationRuleSchema } from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import { trafficPolicyOf } from "./traffic-policy.ts";

const limit = (maxConnections: number) => ({ connectionPool: { tcp: { maxConnections } } });
const onPort = (number: number, settings: object) => ({ port: { number }, ...settings });
const ejects = { outlierDetection: { consecutive5xxErrors: 5 } };

const cases = [
  { name: "nothing said", rule: {}, port: 80, subset: "", want: [undefined, undefined] },
  { name: "the rule's", rule: { trafficPolicy: { ...limit(1), ...ejects } }, port: 80, subset: "", want: [1, 5] },
  {
    name: "the port's over the rule's",
    rule: { trafficPolicy: { ...limit(1), ...ejects, portLevelSettings: [onPort(80, limit(2))] } },
    port: 80,
    subset: "",
    want: [2, 5],
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
