import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create } from "@flotilla/proto";
import { AuthorizationPolicySchema } from "@flotilla/proto/security/v1beta1/authorization_policy_pb";
import type { Binding } from "./binding.ts";
import { policyTargets, serviceConditions, waypointCondition, workloadConditions, ztunnelCondition } from "./status.ts";
import type { Waypoint } from "./waypoint.ts";

const waypoint: Waypoint = {
  ...{ namespace: "shop", name: "way", port: 15_008, traffic: "service", attachment: { from: "Same" } },
  destination: { namespace: "shop", hostname: "way.shop.svc.cluster.local" },
};
const problem = { reason: "WaypointIsNotReady", message: 'waypoint "shop/way" is not ready' };
const texts = (all: ReturnType<typeof serviceConditions>) =>
  all.map(({ type, status, reason, message }) => `${type} ${status} ${reason}: ${message}`);

describe("the conditions of a service", () => {
  const attached = "istio.io/WaypointBound True WaypointAccepted: Successfully attached to waypoint shop/way";
  const cases: readonly (readonly [string, Binding, boolean | undefined, readonly string[]])[] = [
    ["without a waypoint: none", {}, undefined, []],
    ["bound", { waypoint }, undefined, [attached]],
    ["bound, for the ingress too", { waypoint }, true, [`${attached}. Ingress traffic will traverse the waypoint`]],
    [
      ...(["bound, the ingress passes by", { waypoint }, false] as const),
      [
        `${attached}. Ingress traffic is not using the waypoint, set the istio.io/ingress-use-waypoint label to true if desired.`,
      ],
    ],
    [
      "bound, but not to the canary",
      { waypoint, problem },
      undefined,
      [`${attached}. Canary waypoint not attached: ${problem.message}`],
    ],
    ["not bound", { problem }, true, [`istio.io/WaypointBound False ${problem.reason}: ${problem.message}`]],
  ];
  for (const [name, binding, ingressUsesWaypoint, wanted] of cases)
    it(name, () => assert.deepEqual(texts(serviceConditions({ binding, ingressUsesWaypoint })), wanted));

  it("of a wildcard host without a waypoint ask for one, and show a visibility that is set", () => {
    const types = (binding: Binding, visibility: "namespace" | undefined) =>
      serviceConditions({
        binding,
        ingressUsesWaypoint: undefined,
        entry: { hosts: ["*.a.com"], visibility, racesConnections: false },
      }).map(({ type, reason }) => `${type} ${reason}`);
    assert.deepEqual(types({}, undefined), ["istio.io/WaypointMissing NoWaypointForWildcardService"]);
    assert.deepEqual(types({ waypoint }, "namespace"), [
      "istio.io/WaypointBound WaypointAccepted",
      "istio.io/VisibilityApplied Namespace",
    ]);
  });

  it("of an entry with a connect strategy ask for a waypoint, which carries it out", () => {
    const entry = { hosts: ["a.com"], visibility: undefined, racesConnections: true };
    const [condition] = serviceConditions({ binding: {}, ingressUsesWaypoint: undefined, entry });
    assert.equal(condition?.reason, "NoWaypointForRacingConnectStrategy");
    assert.deepEqual(texts(serviceConditions({ binding: { waypoint }, ingressUsesWaypoint: undefined, entry })), [
      attached,
    ]);
  });

  it("of a workload have no word about the ingress", () => {
    assert.deepEqual(texts(workloadConditions({ waypoint })), [attached]);
  });
});

describe("the conditions of a policy", () => {
  it("say whether ztunnels enforce it, and what they leave out", () => {
    const states = [
      ztunnelCondition({}),
      ztunnelCondition({ authorization: {} }),
      ztunnelCondition({ authorization: {}, problem: "left out" }),
      ztunnelCondition({ problem: "not at all" }),
    ].map((all) => all.map(({ status, reason }) => `${status} ${reason}`).join());
    assert.deepEqual(states, ["", "True Accepted", "True UnsupportedValue", "False UnsupportedValue"]);
  });

  it("name the waypoint of each target", () => {
    const targetRefs = [
      { group: "", kind: "Service", name: "web" },
      { group: "networking.istio.io", kind: "ServiceEntry", name: "out" },
      { group: "", kind: "Service", name: "gone" },
      { group: "gateway.networking.k8s.io", kind: "Gateway", name: "way" },
      { group: "gateway.networking.k8s.io", kind: "GatewayClass", name: "istio-waypoint" },
    ];
    const targets = (namespace: string) =>
      policyTargets(create(AuthorizationPolicySchema, { targetRefs }), namespace, {
        rootNamespace: "istio-system",
        controllerOf: (name) => (name === "istio-waypoint" ? "istio.io/mesh-controller" : undefined),
        isWaypoint: (_, name) => name === "way",
        bindingOf: (_, __, name) => ({ web: { waypoint }, out: {} })[name],
      });
    assert.deepEqual(
      targets("shop").map(({ reason, message }) => `${reason}: ${message}`),
      [
        "Accepted: bound to shop/way",
        "AncestorNotBound: ServiceEntry shop/out is not bound to a waypoint",
        "TargetNotFound: Service shop/gone was not found",
        "Accepted: bound to shop/way",
        "Invalid: AuthorizationPolicy must be in the root namespace `istio-system` when referencing a GatewayClass",
      ],
    );
    assert.equal(targets("istio-system").at(-1)?.isBound, true);
    const [all] = waypointCondition(targets("shop"));
    assert.equal(all?.reason, "PartiallyInvalid");
    assert.equal(
      all?.message,
      "Invalid targetRefs: ServiceEntry.networking.istio.io:shop/out, Service.core:shop/gone, GatewayClass.gateway.networking.k8s.io:shop/istio-waypoint",
    );
    assert.equal(waypointCondition(targets("shop").slice(2, 3))[0]?.status, "False");
  });
});
