/** Locality settings of a cluster: of its policy, else of its service, else of the mesh. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create } from "@flotilla/proto";
import {
  LocalityLoadBalancerSettingSchema,
  TrafficPolicySchema,
} from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import { localityChoice } from "./locality-setting.ts";

const setting = (enabled: boolean | undefined, name: string) =>
  create(LocalityLoadBalancerSettingSchema, {
    failoverPriority: [name],
    ...(enabled !== undefined && { enabled }),
  });
const policy = (enabled?: boolean) =>
  create(TrafficPolicySchema, { loadBalancer: { localityLbSetting: setting(enabled, "policy") } });
const mesh = (enabled?: boolean) => setting(enabled, "mesh");

const near = { trafficDistribution: "PreferSameZone" } as const;
const cases = [
  { name: "nothing is stated", is: "none", args: [undefined, {}, undefined] },
  { name: "the mesh states it", is: "mesh", args: [undefined, {}, mesh()] },
  { name: "the mesh switches it off", is: "none", args: [undefined, {}, mesh(false)] },
  { name: "the policy states it", is: "policy", args: [policy(), near, mesh()] },
  { name: "the policy switches it on", is: "policy", args: [policy(true), near, mesh()] },
  { name: "the policy switches it off", is: "none", args: [policy(false), near, mesh()] },
  { name: "the policy states something else", is: "mesh", args: [create(TrafficPolicySchema, {}), {}, mesh()] },
] as const;

describe("a locality setting", () => {
  for (const { name, is, args } of cases)
    it(`is ${is === "none" ? "none" : `that of the ${is}`} where ${name}`, () => {
      const [ofPolicy, service, ofMesh] = args;
      const choice = localityChoice(ofPolicy, service as never, ofMesh);
      assert.equal(choice.setting?.failoverPriority[0] ?? "none", is);
      assert.equal(choice.isForced, false);
    });
  for (const { distribution, last } of [
    { distribution: "PreferSameZone", last: "topology.istio.io/subzone" },
    { distribution: "PreferSameNode", last: "kubernetes.io/hostname" },
  ] as const)
    it(`fails over in any case for a service that asks for ${distribution}`, () => {
      const { setting: chosen, isForced } = localityChoice(
        undefined,
        { trafficDistribution: distribution } as never,
        mesh(),
      );
      assert.equal(isForced, true);
      assert.equal(chosen?.failoverPriority[0], "topology.istio.io/network");
      assert.equal(chosen?.failoverPriority.at(-1), last);
    });
});
