/** Conditions of Gateways by the services that they are reached through, of ListenerSets by what their Gateway allows, and of classes. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Config } from "@flotilla/model";
import type { ServiceFacts } from "./service-facts.ts";
import { anInput, conditionsText, facts, listenersText, statusOf } from "./status-of.fixture.ts";

const host = "edge-istio.infra.svc.cluster.local";
const http = { name: "http", port: 80, protocol: "HTTP" };
const gateway = (listeners: readonly object[], more: object = {}) =>
  anInput("KubernetesGateway/infra/edge", { gatewayClassName: "istio", listeners, ...more });

type Services = Readonly<Record<string, ServiceFacts>>;

const reached: readonly (readonly [
  name: string,
  gateway: Config,
  services: Services,
  addresses: string,
  is: string,
])[] = [
  [
    "by nothing yet",
    gateway([http]),
    {},
    "",
    '+Accepted, -Programmed AddressNotUsable: Failed to assign to any requested addresses: hostname "edge-istio.infra.svc.cluster.local" not found, +ResolvedRefs',
  ],
  [
    "by a load balancer",
    gateway([http]),
    { [host]: facts({ isLoadBalancer: true, externalAddresses: ["192.0.2.1", "lb.example"] }) },
    "IPAddress 192.0.2.1, Hostname lb.example",
    "+Accepted, +Programmed, +ResolvedRefs",
  ],
  [
    "by a load balancer without an address",
    gateway([http]),
    { [host]: facts({ isLoadBalancer: true }) },
    "",
    '+Accepted, -Programmed AddressNotAssigned: Assigned to service(s) edge-istio.infra.svc.cluster.local:80, but failed to assign to all requested addresses: address pending for hostname "edge-istio.infra.svc.cluster.local", +ResolvedRefs',
  ],
  [
    "by a service within the cluster",
    gateway([http]),
    { [host]: facts() },
    "Hostname edge-istio.infra.svc.cluster.local",
    "+Accepted, +Programmed, +ResolvedRefs",
  ],
  [
    "by a service without endpoints",
    gateway([http]),
    { [host]: facts({ targets: {} }) },
    "",
    '+Accepted, -Programmed AddressNotAssigned: Failed to assign to any requested addresses: no instances found for hostname "edge-istio.infra.svc.cluster.local", +ResolvedRefs',
  ],
  [
    "by a service without the port",
    gateway([{ ...http, port: 81 }]),
    { [host]: facts() },
    "",
    '+Accepted, -Programmed AddressNotUsable: Failed to assign to any requested addresses: port 81 not found for hostname "edge-istio.infra.svc.cluster.local", +ResolvedRefs',
  ],
  [
    "by a service whose workload has the port",
    gateway([{ ...http, port: 8080 }]),
    { [host]: facts() },
    "",
    '+Accepted, -Programmed AddressNotUsable: Failed to assign to any requested addresses: port 8080 not found for hostname "edge-istio.infra.svc.cluster.local" (hint: the service port should be specified, not the workload port. Did you mean one of these ports: [80]?), +ResolvedRefs',
  ],
  [
    "by a service with endpoints behind one of its ports",
    gateway([http, { ...http, name: "b", port: 81 }]),
    {
      [host]: facts({
        ports: [
          { name: "http", number: 80 },
          { name: "b", number: 81 },
        ],
        targets: { http: [8080], b: [] },
      }),
    },
    "Hostname edge-istio.infra.svc.cluster.local",
    '+Accepted, -Programmed AddressNotUsable: Assigned to service(s) edge-istio.infra.svc.cluster.local:80, but failed to assign to all requested addresses: port 81 not found for hostname "edge-istio.infra.svc.cluster.local", +ResolvedRefs',
  ],
  [
    "by a service with one of two ports",
    gateway([http, { ...http, name: "b", port: 81 }]),
    { [host]: facts() },
    "Hostname edge-istio.infra.svc.cluster.local",
    '+Accepted, -Programmed AddressNotUsable: Assigned to service(s) edge-istio.infra.svc.cluster.local:80, but failed to assign to all requested addresses: port 81 not found for hostname "edge-istio.infra.svc.cluster.local", +ResolvedRefs',
  ],
  [
    "by addresses that it names",
    gateway([http], { addresses: [{ type: "Hostname", value: "own.infra.svc.cluster.local" }] }),
    { "own.infra.svc.cluster.local": facts() },
    "Hostname own.infra.svc.cluster.local",
    "+Accepted, +Programmed, +ResolvedRefs",
  ],
  [
    "by names of two services, of which one is not there",
    gateway([http], {
      addresses: [
        { type: "Hostname", value: "own" },
        { type: "Hostname", value: "no" },
      ],
    }),
    { "own.infra.svc.cluster.local": facts() },
    "Hostname own.infra.svc.cluster.local",
    '+Accepted, -Programmed AddressNotUsable: Assigned to service(s) own.infra.svc.cluster.local:80, but failed to assign to all requested addresses: hostname "no.infra.svc.cluster.local" not found, +ResolvedRefs',
  ],
  [
    "by an IP address alone",
    gateway([http], { addresses: [{ type: "IPAddress", value: "192.0.2.9" }] }),
    { [host]: facts() },
    "Hostname edge-istio.infra.svc.cluster.local",
    "+Accepted, +Programmed, +ResolvedRefs",
  ],
  [
    "by an address of an unknown type",
    gateway([http], { addresses: [{ type: "example.com/x", value: "x" }] }),
    {},
    "",
    "-Accepted UnsupportedAddress: only Hostname is supported, ignoring [x], -Programmed UnsupportedAddress: Failed to assign to any requested addresses, +ResolvedRefs",
  ],
  [
    "elsewhere",
    gateway([http], {
      gatewayClassName: "istio-remote",
      addresses: [
        { type: "IPAddress", value: "192.0.2.9" },
        { type: "Hostname", value: "h" },
      ],
    }),
    {},
    "IPAddress 192.0.2.9, Hostname h",
    "+Accepted, +Programmed",
  ],
  [
    "by parameters that are not there",
    gateway([http], { infrastructure: { parametersRef: { group: "", kind: "ConfigMap", name: "no" } } }),
    { [host]: facts() },
    "Hostname edge-istio.infra.svc.cluster.local",
    "-Accepted InvalidParameters: parametersRef ConfigMap infra/no does not exist, +Programmed, +ResolvedRefs",
  ],
  ["not, for a class of others", gateway([http], { gatewayClassName: "nginx" }), {}, "", ""],
];

describe("a Gateway is reached", () => {
  for (const [name, object, services, addresses, is] of reached)
    it(name, () => {
      const status = statusOf(object, [], services);
      const shown = (status?.["addresses"] ?? []) as readonly { readonly type: string; readonly value: string }[];
      assert.equal(shown.map(({ type, value }) => `${type} ${value}`).join(", "), addresses);
      assert.equal(conditionsText(status ?? {}), is);
    });
});

const set = (listeners: readonly object[], namespace = "infra") =>
  anInput(`ListenerSet/${namespace}/more`, { parentRef: { name: "edge", namespace: "infra" }, listeners });
const allowing = (from: string) => gateway([http], { allowedListeners: { namespaces: { from } } });
const also = { name: "also", port: 81, protocol: "HTTP" };
const bothPorts = {
  ports: [
    { name: "http", number: 80 },
    { name: "also", number: 81 },
  ],
  targets: { http: [8080], also: [8081] },
};

const sets: readonly (readonly [
  name: string,
  set: Config,
  others: readonly Config[],
  conditions: string,
  listeners: string,
])[] = [
  [
    "of a Gateway that allows none",
    set([also]),
    [gateway([http])],
    "-Accepted NotAllowed: The parent Gateway does not allow this reference; check the 'spec.allowedRoutes', -Programmed NotAllowed: The parent Gateway does not allow this reference; check the 'spec.allowedRoutes'",
    "",
  ],
  [
    "of a Gateway that allows its namespace",
    set([also]),
    [allowing("Same")],
    "+Accepted, +Programmed",
    "also 0 HTTPRoute GRPCRoute: +Accepted, +Conflicted, +Programmed, +ResolvedRefs",
  ],
  [
    "of another namespace",
    set([also], "shop"),
    [allowing("Same")],
    "-Accepted NotAllowed: The parent Gateway does not allow this reference; check the 'spec.allowedRoutes', -Programmed NotAllowed: The parent Gateway does not allow this reference; check the 'spec.allowedRoutes'",
    "",
  ],
  [
    "of any namespace",
    set([also], "shop"),
    [allowing("All")],
    "+Accepted, +Programmed",
    "also 0 HTTPRoute GRPCRoute: +Accepted, +Conflicted, +Programmed, +ResolvedRefs",
  ],
  [
    "with a listener that the Gateway has",
    set([{ ...http, name: "x" }]),
    [allowing("All")],
    "-Accepted ListenersNotValid: None of the ListenerSet's listeners are valid, -Programmed ListenersNotValid: None of the ListenerSet's listeners are valid",
    "x 0 HTTPRoute GRPCRoute: -Accepted HostnameConflict: Listener has a conflict with another listener attached to the same Gateway, -Conflicted HostnameConflict: Listener has a conflict with another listener attached to the same Gateway, -Programmed HostnameConflict: Listener has a conflict with another listener attached to the same Gateway",
  ],
  [
    "with one good listener",
    set([{ ...http, name: "x" }, also]),
    [allowing("All")],
    "+Accepted, +Programmed",
    "x 0 HTTPRoute GRPCRoute: -Accepted HostnameConflict: Listener has a conflict with another listener attached to the same Gateway, -Conflicted HostnameConflict: Listener has a conflict with another listener attached to the same Gateway, -Programmed HostnameConflict: Listener has a conflict with another listener attached to the same Gateway; also 0 HTTPRoute GRPCRoute: +Accepted, +Conflicted, +Programmed, +ResolvedRefs",
  ],
  [
    "with HTTPS without TLS",
    set([{ ...also, protocol: "HTTPS" }]),
    [allowing("All")],
    "-Accepted ListenersNotValid: None of the ListenerSet's listeners are valid, -Programmed ListenersNotValid: None of the ListenerSet's listeners are valid",
    "also 0 HTTPRoute GRPCRoute: -Accepted UnsupportedProtocol: protocol is HTTPS but no TLS section is defined, +Conflicted, -Programmed Invalid: Bad TLS configuration, +ResolvedRefs",
  ],
  [
    "of a Gateway with bad addresses",
    set([also]),
    [
      gateway([http], {
        allowedListeners: { namespaces: { from: "All" } },
        addresses: [{ type: "example.com/x", value: "x" }],
      }),
    ],
    "-Accepted UnsupportedAddress: Parent not accepted: only Hostname is supported, ignoring [x], -Programmed UnsupportedAddress: Failed to assign to any requested addresses",
    "",
  ],
];

describe("a ListenerSet", () => {
  for (const [name, object, others, conditions, shown] of sets)
    it(name, () => {
      const status = statusOf(object, others, { [host]: facts(bothPorts) });
      assert.equal(conditionsText(status ?? {}), conditions);
      assert.equal(listenersText(status), shown);
    });
  it("is counted by its Gateway", () => {
    const sets = (one: Config) =>
      statusOf(allowing("All"), [one], { [host]: facts(bothPorts) })?.["attachedListenerSets"];
    assert.deepEqual([sets(set([also])), sets(set([{ ...http, name: "x" }]))], [1, undefined]);
  });
});

describe("a GatewayClass", () => {
  const status = (controllerName: string) => statusOf(anInput("GatewayClass//c", { controllerName }), []);
  it("of ours is accepted", () =>
    assert.equal(conditionsText(status("istio.io/gateway-controller") ?? {}), "+Accepted"));
  it("of others has no status", () => assert.equal(status("example.com/other"), undefined));
});
