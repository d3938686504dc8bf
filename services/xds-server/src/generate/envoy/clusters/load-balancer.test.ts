/** Settings of load balancing in Envoy's fields. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create, type MessageInitShape } from "@flotilla/proto";
import { Cluster_LbPolicy as LbPolicy } from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import {
  LoadBalancerSettingsSchema,
  LoadBalancerSettings_SimpleLB as SimpleLb,
} from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import { isPassthrough, loadBalancer } from "./load-balancer.ts";

type Settings = MessageInitShape<typeof LoadBalancerSettingsSchema>;
const settingsOf = (init: Settings) => create(LoadBalancerSettingsSchema, init);
const simple = (value: SimpleLb) => ({ lbPolicy: { case: "simple" as const, value } });
const window = { seconds: 30n, nanos: 0 };

const cases: readonly {
  readonly name: string;
  readonly settings?: Settings;
  readonly keepsKeys?: boolean;
  readonly policy: LbPolicy;
  readonly config?: string;
}[] = [
  { name: "nothing is said", policy: LbPolicy.LEAST_REQUEST },
  { name: "nothing is said of servers that hold data", keepsKeys: true, policy: LbPolicy.MAGLEV },
  { name: "RANDOM", settings: simple(SimpleLb.RANDOM), policy: LbPolicy.RANDOM },
  { name: "ROUND_ROBIN", settings: simple(SimpleLb.ROUND_ROBIN), policy: LbPolicy.ROUND_ROBIN },
  { name: "LEAST_CONN", settings: simple(SimpleLb.LEAST_CONN), policy: LbPolicy.LEAST_REQUEST },
  {
    name: "LEAST_CONN of servers that hold data",
    settings: simple(SimpleLb.LEAST_CONN),
    keepsKeys: true,
    policy: LbPolicy.MAGLEV,
  },
  {
    name: "ROUND_ROBIN with a warm-up",
    settings: { ...simple(SimpleLb.ROUND_ROBIN), warmupDurationSecs: window },
    policy: LbPolicy.ROUND_ROBIN,
    config: "roundRobinLbConfig",
  },
  {
    name: "LEAST_REQUEST with a warm-up",
    settings: { ...simple(SimpleLb.LEAST_REQUEST), warmupDurationSecs: window },
    policy: LbPolicy.LEAST_REQUEST,
    config: "leastRequestLbConfig",
  },
  {
    name: "a table of Maglev of Envoy's size",
    settings: { lbPolicy: { case: "consistentHash", value: { hashAlgorithm: { case: "maglev", value: {} } } } },
    policy: LbPolicy.MAGLEV,
  },
  {
    name: "a table of Maglev of a stated size",
    settings: {
      lbPolicy: { case: "consistentHash", value: { hashAlgorithm: { case: "maglev", value: { tableSize: 7n } } } },
    },
    policy: LbPolicy.MAGLEV,
    config: "maglevLbConfig",
  },
];

/** The smallest size of the ring. */
const ringSizes: readonly (readonly [name: string, hash: object, size: bigint])[] = [
  ["by default", {}, 1024n],
  ["of the older field", { minimumRingSize: 5n }, 5n],
  ["of the ring", { hashAlgorithm: { case: "ringHash", value: { minimumRingSize: 9n } }, minimumRingSize: 5n }, 9n],
];

describe("load balancing", () => {
  for (const { name, settings, keepsKeys, policy, config } of cases)
    it(name, () => {
      const { lbPolicy, lbConfig } = loadBalancer(settings && settingsOf(settings), keepsKeys);
      assert.deepEqual([lbPolicy, lbConfig?.case], [policy, config]);
    });
  for (const [name, hash, size] of ringSizes)
    it(`has a ring ${name}`, () => {
      const { lbPolicy, lbConfig } = loadBalancer(settingsOf({ lbPolicy: { case: "consistentHash", value: hash } }));
      assert.equal(lbPolicy, LbPolicy.RING_HASH);
      assert.ok(lbConfig?.case === "ringHashLbConfig");
      assert.equal(lbConfig.value.minimumRingSize, size);
    });
  it("warms up for the time of the older field, and nothing else", () => {
    const { lbConfig } = loadBalancer(settingsOf({ warmupDurationSecs: window }));
    assert.ok(lbConfig?.case === "leastRequestLbConfig");
    const { slowStartConfig: slow } = lbConfig.value;
    assert.deepEqual(
      [slow?.slowStartWindow?.seconds, slow?.aggression, slow?.minWeightPercent],
      [30n, undefined, undefined],
    );
  });
  it("warms up as stated, else with Istio's defaults", () => {
    for (const [warmup, aggression, percent] of [
      [{ duration: window }, 1, 10],
      [{ duration: window, aggression: 2, minimumPercent: 50 }, 2, 50],
    ] as const) {
      const { lbConfig } = loadBalancer(settingsOf({ warmup }));
      assert.ok(lbConfig?.case === "leastRequestLbConfig");
      const { slowStartConfig: slow } = lbConfig.value;
      assert.deepEqual(
        [slow?.slowStartWindow?.seconds, slow?.aggression?.defaultValue, slow?.minWeightPercent?.value],
        [30n, aggression, percent],
      );
    }
  });
  it("passes connections through where a rule says so", () =>
    assert.deepEqual(
      [undefined, settingsOf(simple(SimpleLb.RANDOM)), settingsOf(simple(SimpleLb.PASSTHROUGH))].map(isPassthrough),
      [false, false, true],
    ));
});
