/** Status of Gateways and ListenerSets: addresses, the Services that a Gateway is reached by, and what is wrong with it. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Config } from "@flotilla/model";
import { builtInClasses, defaultClassSettings } from "./gateway-classes.ts";
import { type GatewayPlan, planGateway } from "./gateway-plan.ts";
import type { KubernetesGatewaySpec, ListenerSetSpec, ListenerSpec } from "./gateway-spec.ts";
import {
  type GatewayService,
  type GatewayStatus,
  gatewayClassStatus,
  gatewayStatus,
  type ListenerStatus,
  listenerSetStatus,
} from "./gateway-status.ts";

const http: ListenerSpec = { name: "http", port: 80, protocol: "HTTP" };
const odd: ListenerSpec = { name: "odd", port: 81, protocol: "http" };
const set = (name: string, listeners: readonly ListenerSpec[]): Config<ListenerSetSpec> => ({
  key: { kind: "ListenerSet", namespace: "infra", name },
  ...{ labels: {}, annotations: {}, creationTimeMs: 0, spec: { parentRef: { name: "edge" }, listeners } },
});

function planned(spec: KubernetesGatewaySpec, sets: readonly Config<ListenerSetSpec>[] = []): GatewayPlan {
  const gateway: Config<KubernetesGatewaySpec> = {
    key: { kind: "KubernetesGateway", namespace: "infra", name: "edge" },
    ...{ labels: {}, annotations: {}, creationTimeMs: 0 },
    spec: { gatewayClassName: "istio", ...spec },
  };
  const plan = planGateway(gateway, sets, {
    domain: "cluster.local",
    classes: builtInClasses(defaultClassSettings),
    controllerOf: () => undefined,
    hasConfigMap: () => false,
    namespaces: () => [],
    certificateProblem: () => undefined,
    rootsProblem: () => undefined,
    grantsIn: () => [],
  });
  assert.ok(plan !== undefined);
  return plan;
}

const host = "edge-istio.infra.svc.cluster.local";
const service = (more: Partial<GatewayService> = {}): GatewayService => ({
  ...{ servedPorts: [80, 443], portsByTarget: new Map([[8080, [80]]]), externalAddresses: [], isLoadBalancer: false },
  ...more,
});
const lookups = (found: GatewayService | undefined) => ({
  serviceOf: (name: string) => (name === host ? found : undefined),
  attachedRoutes: () => 3,
});
const statusOf = (spec: KubernetesGatewaySpec, found?: GatewayService, sets?: readonly Config<ListenerSetSpec>[]) =>
  gatewayStatus(planned(spec, sets), lookups(found));
const textOf = ({ conditions }: Pick<GatewayStatus, "conditions">, type: string) => {
  const { status, reason, message } = conditions.find((one) => one.type === type) ?? {};
  return `${status} ${reason}: ${message}`;
};

const failed = "Failed to assign to any requested addresses";
const assigned = `Resource programmed, assigned to service(s)`;
const programmed: readonly {
  readonly name: string;
  readonly ports?: readonly number[];
  readonly service?: Partial<GatewayService>;
  readonly want: string;
  readonly addresses?: readonly string[];
}[] = [
  {
    name: "a Service within the cluster",
    want: `True Programmed: ${assigned} ${host}:80`,
    addresses: [`Hostname ${host}`],
  },
  {
    name: "several ports of it, in their order",
    ports: [443, 80],
    want: `True Programmed: ${assigned} ${host}:443 and ${host}:80`,
    addresses: [`Hostname ${host}`],
  },
  {
    name: "addresses from outside",
    service: { externalAddresses: ["lb.example", "10.1.1.1"], isLoadBalancer: true },
    want: `True Programmed: ${assigned} ${host}:80`,
    addresses: ["IPAddress 10.1.1.1", "Hostname lb.example"],
  },
  {
    name: "a load balancer that waits for its address",
    service: { isLoadBalancer: true },
    want: `False AddressNotAssigned: Assigned to service(s) ${host}:80, but failed to assign to all requested addresses: address pending for hostname "${host}"`,
  },
  {
    name: "no endpoint",
    service: { portsByTarget: new Map() },
    want: `False AddressNotAssigned: ${failed}: no instances found for hostname "${host}"`,
  },
  {
    name: "a port that the Service does not have",
    ports: [80, 90],
    want: `False AddressNotUsable: Assigned to service(s) ${host}:80, but failed to assign to all requested addresses: port 90 not found for hostname "${host}"`,
    addresses: [`Hostname ${host}`],
  },
  {
    name: "no port that the Service has, although a load balancer waits",
    ports: [90],
    service: { isLoadBalancer: true },
    want: `False AddressNotUsable: ${failed}: port 90 not found for hostname "${host}"`,
  },
  {
    name: "the port of the workload",
    ports: [8080],
    want: `False AddressNotUsable: ${failed}: port 8080 not found for hostname "${host}" (hint: the service port should be specified, not the workload port. Did you mean one of these ports: [80]?)`,
  },
];

describe("a Gateway is reached by", () => {
  for (const { name, ports = [80], service: more = {}, want, addresses } of programmed)
    it(name, () => {
      const listeners = ports.map((port) => ({ ...http, name: `p${port}`, port }));
      const status = statusOf({ listeners }, service(more));
      assert.equal(textOf(status, "Programmed"), want);
      assert.deepEqual(
        status.addresses?.map(({ type, value }) => `${type} ${value}`),
        addresses,
      );
    });
  it("no Service", () =>
    assert.equal(
      textOf(statusOf({ listeners: [http] }), "Programmed"),
      `False AddressNotUsable: ${failed}: hostname "${host}" not found`,
    ));
  it("sixteen addresses at most", () => {
    const externalAddresses = Array.from({ length: 20 }, (_, i) => `10.0.0.${i}`);
    assert.equal(statusOf({ listeners: [http] }, service({ externalAddresses })).addresses?.length, 16);
  });
  it("the ports of its listener sets too", () => {
    const spec = { listeners: [http], allowedListeners: { namespaces: { from: "All" } } };
    const status = statusOf(spec, service(), [set("s", [{ ...http, name: "more", port: 443 }])]);
    assert.equal(textOf(status, "Programmed"), `True Programmed: ${assigned} ${host}:443 and ${host}:80`);
  });
});

describe("the status of a Gateway", () => {
  it("has its listeners with their routes, kinds and conditions", () => {
    const [listener, broken] = statusOf({ listeners: [http, odd] }, service()).listeners ?? [];
    assert.deepEqual([listener?.name, listener?.attachedRoutes], ["http", 3]);
    const group = "gateway.networking.k8s.io";
    assert.deepEqual(listener?.supportedKinds, [
      { group, kind: "HTTPRoute" },
      { group, kind: "GRPCRoute" },
    ]);
    const words = (one: ListenerStatus | undefined) =>
      one?.conditions.map(({ type, status, reason }) => [type, status, reason]);
    assert.deepEqual(words(listener), [
      ["Accepted", "True", "Accepted"],
      ["Conflicted", "False", "NoConflicts"],
      ["Programmed", "True", "Programmed"],
      ["ResolvedRefs", "True", "ResolvedRefs"],
    ]);
    assert.deepEqual(words(broken)?.[0], ["Accepted", "False", "UnsupportedProtocol"]);
  });
  it("has the conflict of listeners that cannot be distinguished", () => {
    const [, again] = statusOf({ listeners: [http, { ...http, name: "again" }] }, service()).listeners ?? [];
    assert.deepEqual(
      again?.conditions.map(({ type, status, reason }) => [type, status, reason]),
      [
        ["Accepted", "False", "HostnameConflict"],
        ["Conflicted", "True", "HostnameConflict"],
        ["Programmed", "False", "HostnameConflict"],
      ],
    );
  });
  it("has no listeners and no sets where there are none", () => {
    const status = statusOf({}, service());
    assert.deepEqual([status.listeners, status.attachedListenerSets], [undefined, undefined]);
  });
  it("reports clients that are let in without a certificate that can be verified", () => {
    const caCertificateRefs = [{ kind: "ConfigMap", name: "roots" }];
    const validation = { caCertificateRefs, mode: "AllowInsecureFallback" };
    const https = { name: "s", port: 443, protocol: "HTTPS", tls: { certificateRefs: [{ name: "a" }] } };
    const types = (spec: KubernetesGatewaySpec) => statusOf(spec, service()).conditions.map(({ type }) => type);
    assert.deepEqual(types({ listeners: [http, https], tls: { frontend: { default: { validation } } } }), [
      ...["Accepted", "InsecureFrontendValidationMode", "Programmed", "ResolvedRefs"],
    ]);
    assert.deepEqual(types({ listeners: [http, https] }), ["Accepted", "Programmed", "ResolvedRefs"]);
  });
  it("of a waypoint does not judge its listeners", () => {
    const status = statusOf({ gatewayClassName: "istio-waypoint", listeners: [http] }, service());
    assert.match(textOf(status, "Accepted"), /^True Accepted/);
  });
  it("of an address that is no host name refuses the Gateway", () => {
    const addresses = [
      { type: "IPAddress", value: "10.0.0.1" },
      { type: "IPAddress", value: "10.0.0.2" },
    ];
    const status = statusOf({ addresses, listeners: [http] }, service());
    const message = "only Hostname is supported, ignoring [10.0.0.1 10.0.0.2]";
    assert.equal(textOf(status, "Accepted"), `False UnsupportedAddress: ${message}`);
    assert.equal(textOf(status, "Programmed"), `False UnsupportedAddress: ${failed}`);
    assert.equal(status.listeners, undefined);
  });
  it("of a remote one has its addresses", () => {
    const remote = { gatewayClassName: "istio-remote" };
    const addresses = [
      { type: "Hostname", value: "east.example" },
      { type: "IPAddress", value: "10.0.0.1" },
    ];
    const status = statusOf({ ...remote, addresses });
    assert.deepEqual(status.addresses, addresses);
    const message = "This Gateway is remote; Istio will not program it";
    assert.equal(textOf(status, "Programmed"), `True Programmed: ${message}`);
    assert.equal(statusOf(remote).addresses, undefined);
  });
});

describe("the status of a ListenerSet", () => {
  const allowed = { listeners: [http], allowedListeners: { namespaces: { from: "All" } } };
  const statusOfSet = (spec: KubernetesGatewaySpec, listeners: readonly ListenerSpec[], found = service()) => {
    const plan = planned(spec, [set("s", listeners)]);
    const [only] = plan.sets;
    assert.ok(only !== undefined);
    return { own: listenerSetStatus(only, plan, lookups(found)), gateway: gatewayStatus(plan, lookups(found)) };
  };
  it("counts for the Gateway, and is programmed by its own ports", () => {
    const { own, gateway } = statusOfSet(allowed, [{ ...http, port: 443 }]);
    assert.match(textOf(own, "Accepted"), /^True Accepted/);
    assert.equal(textOf(own, "Programmed"), `True Programmed: ${assigned} ${host}:443`);
    assert.deepEqual([own.listeners?.length, gateway.attachedListenerSets], [1, 1]);
  });
  it("is refused without a valid listener", () => {
    const { own, gateway } = statusOfSet(allowed, [odd]);
    const text = "False ListenersNotValid: None of the ListenerSet's listeners are valid";
    assert.deepEqual([textOf(own, "Accepted"), textOf(own, "Programmed")], [text, text]);
    assert.deepEqual([own.listeners?.length, gateway.attachedListenerSets], [1, undefined]);
  });
  it("is accepted with one, and with no listeners at all", () => {
    assert.match(textOf(statusOfSet(allowed, [odd, { ...http, port: 443 }]).own, "Accepted"), /^True Accepted/);
    const { own } = statusOfSet(allowed, []);
    assert.match(textOf(own, "Accepted"), /^True Accepted/);
    assert.equal(own.listeners, undefined);
  });
  it("is refused where the Gateway does not allow it", () => {
    const { own, gateway } = statusOfSet({ listeners: [http] }, [{ ...http, port: 443 }]);
    assert.match(textOf(own, "Accepted"), /^False NotAllowed: The parent Gateway does not allow this reference/);
    assert.match(textOf(own, "Programmed"), /^False NotAllowed: The parent Gateway/);
    assert.deepEqual([own.listeners, gateway.attachedListenerSets], [undefined, undefined]);
  });
  it("has the reason of its Gateway", () => {
    const addresses = [
      { type: "IPAddress", value: "10.0.0.1" },
      { type: "IPAddress", value: "10.0.0.2" },
    ];
    const { own } = statusOfSet({ ...allowed, addresses }, [http]);
    assert.match(textOf(own, "Accepted"), /^False UnsupportedAddress: Parent not accepted: only Hostname is supported/);
    assert.equal(textOf(own, "Programmed"), `False UnsupportedAddress: ${failed}`);
  });
});

it("a GatewayClass of the mesh is accepted", () =>
  assert.deepEqual(gatewayClassStatus().conditions, [
    { type: "Accepted", status: "True", reason: "Accepted", message: "Handled by Istio controller" },
  ]));
