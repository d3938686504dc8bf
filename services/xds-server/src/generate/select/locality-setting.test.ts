/** Locality settings of a cluster: of its policy, else of its service, else of the mesh. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create } from "@flotilla/proto";
import { MeshConfigSchema } from "@flotilla/proto/mesh/v1alpha1/config_pb";
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
const zoned = (enabled?: boolean) =>
  create(TrafficPolicySchema, {
    loadBalancer: {
      zoneAwareLbSetting: { failoverPriority: ["zones"], ...(enabled !== undefined && { enabled }) },
      localityLbSetting: setting(true, "policy"),
    },
  });
const mesh = (enabled?: boolean) => create(MeshConfigSchema, { localityLbSetting: setting(enabled, "mesh") });
const zonedMesh = create(MeshConfigSchema, { zoneAwareLbSetting: { failoverPriority: ["zones"] } });

const near = { trafficDistribution: "PreferSameZone" } as const;
const cases = [
  { name: "nothing is stated", is: "none", args: [undefined, {}, create(MeshConfigSchema, {})] },
  { name: "the mesh states it", is: "mesh", args: [undefined, {}, mesh()] },
  { name: "the mesh switches it off", is: "none", args: [undefined, {}, mesh(false)] },
  { name: "the policy states it", is: "policy", args: [policy(), near, mesh()] },
  { name: "the policy switches it on", is: "policy", args: [policy(true), near, mesh()] },
  { name: "the policy switches it off", is: "none", args: [policy(false), near, mesh()] },
  { name: "the policy divides by zones", is: "zones", args: [zoned(), near, mesh()] },
  { name: "the policy must not divide by zones", is: "none", args: [zoned(false), near, mesh()] },
  { name: "the mesh divides by zones", is: "zones", args: [undefined, {}, zonedMesh] },
  { name: "the policy states it in a mesh of zones", is: "policy", args: [policy(), {}, zonedMesh] },
  { name: "the policy states something else", is: "mesh", args: [create(TrafficPolicySchema, {}), {}, mesh()] },
] as const;

describe("a locality setting", () => {
  for (const { name, is, args } of cases)
    it(`is ${is === "none" ? "none" : `that of the ${is}`} where ${name}`, () => {
      const [ofPolicy, service, ofMesh] = args;
      const choice = localityChoice(ofPolicy, service as never, ofMesh);
      assert.equal(choice.setting?.failoverPriority[0] ?? "none", is);
      assert.equal(choice.isForced, is === "zones");
    });
  for (const { distribution, last } of [
    { distribution: "PreferSameZone", last: "topology.kubernetes.io/zone" },
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
