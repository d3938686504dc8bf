/** Listeners and hosts that a route attaches to, and why it does not attach to others of its parents. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ListenerPlan } from "./listener-plan.ts";
import { type AttachmentLookups, attachRoute } from "./route-attachments.ts";
import { routeHead } from "./route-head.ts";
import type { HttpRouteSpec, ParentRef } from "./route-spec.ts";

const aListener = (name: string, more: Partial<ListenerPlan> = {}): ListenerPlan => ({
  ...{ owner: { kind: "KubernetesGateway", namespace: "infra", name: "edge" }, name, port: 80, protocol: "HTTP" },
  ...{ hostname: "", namespaces: ["*"], kinds: ["HTTPRoute", "GRPCRoute"], problems: {}, isInsecure: false },
  ...more,
});
const lookups = (...listeners: readonly ListenerPlan[]): AttachmentLookups => ({
  listenersOf: ({ name }) => (name === "edge" ? listeners : name === "empty" ? [] : undefined),
  hostsOf: ({ name }) => (name === "lost" ? "no such host" : name === "foreign" ? undefined : [`${name}.shop`]),
});
const edge: ParentRef = { name: "edge", namespace: "infra" };

function attached(spec: HttpRouteSpec, listeners: readonly ListenerPlan[], kind = "HTTPRoute") {
  const key = { kind, namespace: "shop", name: "r" };
  const route = { key, labels: {}, annotations: {}, creationTimeMs: 0, spec: routeHead(key, spec) };
  return attachRoute(route, lookups(...listeners));
}

/** `LISTENER: HOSTS` of each attachment of the only parent, or its problem. */
function outcome(spec: HttpRouteSpec, listeners: readonly ListenerPlan[], kind?: string): readonly string[] {
  const [parent, ...more] = attached({ parentRefs: [edge], ...spec }, listeners, kind);
  assert.deepEqual(more, []);
  const { attachments = [], problem } = parent ?? {};
  return problem === undefined
    ? attachments.map(({ listener, hosts }) => `${listener?.name}: ${hosts.join(" ")}`)
    : [`${problem.reason}: ${problem.message}`];
}

const two = [aListener("http"), aListener("alt", { port: 8080, hostname: "*.example" })];
const cases: readonly {
  readonly name: string;
  readonly spec: HttpRouteSpec;
  readonly listeners?: readonly ListenerPlan[];
  readonly kind?: string;
  readonly want: readonly string[];
}[] = [
  { name: "every listener, for any host", spec: {}, want: ["http: *", "alt: *"] },
  { name: "that of a port", spec: { parentRefs: [{ ...edge, port: 8080 }] }, want: ["alt: *"] },
  { name: "that of a section", spec: { parentRefs: [{ ...edge, sectionName: "http" }] }, want: ["http: *"] },
  {
    name: "no other port",
    spec: { parentRefs: [{ ...edge, port: 90 }] },
    want: ["NoMatchingParent: port 90 not found"],
  },
  {
    name: "no other section",
    spec: { parentRefs: [{ ...edge, sectionName: "x" }] },
    want: ['NoMatchingParent: sectionName "x" not found'],
  },
  {
    name: "those with one of its names",
    spec: { hostnames: ["a.example", "b.test"] },
    want: ["http: a.example b.test", "alt: a.example"],
  },
  {
    name: "none without one of its names",
    spec: { hostnames: ["b.test"] },
    listeners: [aListener("alt", { hostname: "*.example" })],
    want: ['NoMatchingListenerHostname: no hostnames matched parent hostname "*.example"'],
  },
  {
    name: "the most specific listener of a port for each name",
    spec: { hostnames: ["a.example", "x.a.example", "b.test"] },
    listeners: [
      aListener("any"),
      aListener("wide", { hostname: "*.example" }),
      aListener("narrow", { hostname: "*.a.example" }),
    ],
    want: ["any: b.test", "wide: a.example", "narrow: x.a.example"],
  },
  {
    name: "listeners of another port whatever their names",
    spec: { hostnames: ["a.example"] },
    listeners: [aListener("any"), aListener("alt", { port: 8080, hostname: "a.example" })],
    want: ["any: a.example", "alt: a.example"],
  },
  {
    name: "none that does not allow its namespace",
    spec: {},
    listeners: [aListener("bank", { namespaces: ["bank"], hostname: "a.example" })],
    want: [
      'NotAllowedByListeners: hostnames matched parent hostname "a.example", but namespace "shop" is not allowed by the parent',
    ],
  },
  {
    name: "one that allows its namespace",
    spec: {},
    listeners: [aListener("own", { namespaces: ["bank", "shop"] })],
    want: ["own: *"],
  },
  {
    name: "none that does not take its kind",
    spec: {},
    kind: "TCPRoute",
    want: ["NotAllowedByListeners: kind gateway.networking.k8s.io/v1/TCPRoute is not allowed"],
  },
  {
    name: "none, for the reason that comes nearest, each message once, the last listener's first",
    spec: { parentRefs: [{ ...edge, port: 80 }], hostnames: ["b.test"] },
    listeners: [
      aListener("a", { hostname: "a.example" }),
      aListener("b", { hostname: "b.example" }),
      aListener("again", { hostname: "a.example" }),
      aListener("port", { port: 81 }),
    ],
    want: [
      'NoMatchingListenerHostname: no hostnames matched parent hostname "a.example"; no hostnames matched parent hostname "b.example"',
    ],
  },
];

describe("a route attaches to", () => {
  for (const { name, spec, listeners = two, kind, want } of cases)
    it(name, () => assert.deepEqual(outcome(spec, listeners, kind), want));

  it("the Gateway of Istio's API that the listener stands for", () => {
    const [parent] = attached({ parentRefs: [edge] }, two);
    assert.equal(parent?.attachments[0]?.gateway, "infra/edge~istio-autogenerated-k8s-gateway~http");
  });
  it("nothing of Gateways that are not served from here or have no listeners", () =>
    assert.deepEqual(attached({ parentRefs: [{ name: "other" }, { name: "empty" }] }, two), []));
});

describe("a route within the mesh", () => {
  const service = (name: string) => ({ group: "", kind: "Service", name });
  it("attaches to each host of its parents", () => {
    const [parent] = attached({ parentRefs: [service("web")] }, two);
    const shown = parent?.attachments.map(({ gateway, hosts }) => `${gateway} ${hosts}`);
    assert.deepEqual(shown, ["mesh web.shop"]);
  });
  it("has the reason for which an object cannot be its parent", () => {
    const [parent] = attached({ parentRefs: [service("lost")] }, two);
    assert.deepEqual(parent?.problem, { reason: "NoMatchingParent", message: "no such host" });
    assert.deepEqual(parent?.attachments, []);
  });
  it("is not followed for parents of another cluster, nor for datagrams", () => {
    assert.deepEqual(attached({ parentRefs: [service("foreign")] }, two), []);
    assert.deepEqual(attached({ parentRefs: [service("web")] }, two, "UDPRoute"), []);
  });
  it("has its parents in descending order of their texts", () => {
    const parents = attached({ parentRefs: [service("a"), edge, service("b")] }, two);
    assert.deepEqual(
      parents.map(({ parent }) => parent.name),
      ["edge", "b", "a"],
    );
  });
});
