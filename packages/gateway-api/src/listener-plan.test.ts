/** Problems with listeners, and the servers that remain in spite of them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Config } from "@flotilla/model";
import { builtInClasses, defaultClassSettings } from "./gateway-classes.ts";
import { gatewayConfigs, planGateway } from "./gateway-plan.ts";
import type { KubernetesGatewaySpec, ListenerSpec, ReferenceGrantSpec } from "./gateway-spec.ts";
import { gatewayStatus } from "./gateway-status.ts";

const grant: Config<ReferenceGrantSpec> = {
  ...{ key: { kind: "ReferenceGrant", namespace: "vault", name: "g" }, labels: {}, annotations: {}, creationTimeMs: 0 },
  spec: {
    from: [{ group: "gateway.networking.k8s.io", kind: "Gateway", namespace: "infra" }],
    to: [{ group: "", kind: "Secret", name: "shared" }],
  },
};

function planned(listeners: readonly ListenerSpec[], more: KubernetesGatewaySpec = {}, udpRoutes = false) {
  const gateway: Config<KubernetesGatewaySpec> = {
    key: { kind: "KubernetesGateway", namespace: "infra", name: "edge" },
    ...{ labels: {}, annotations: {}, creationTimeMs: 0 },
    spec: { gatewayClassName: "istio", listeners, ...more },
  };
  const plan = planGateway(gateway, [], {
    domain: "cluster.local",
    classes: builtInClasses({ ...defaultClassSettings, udpRoutes }),
    controllerOf: () => undefined,
    hasConfigMap: () => false,
    namespaces: () => [{ name: "shop", labels: { team: "a" } }],
    certificateProblem: (namespace, name) => (name === "lost" ? `secret ${namespace}/${name} not found` : undefined),
    rootsProblem: () => undefined,
    grantsIn: (namespace) => (namespace === "vault" ? [grant] : []),
  });
  assert.ok(plan !== undefined);
  return plan;
}

const http: ListenerSpec = { name: "http", port: 80, protocol: "HTTP" };
const https = (name: string, secret: object): ListenerSpec => ({
  ...{ name, port: 443, protocol: "HTTPS", hostname: `${name}.example` },
  tls: { certificateRefs: [secret] },
});

const cases: readonly { name: string; listeners: readonly ListenerSpec[]; serving: readonly string[]; why: string }[] =
  [
    { name: "a plain one", listeners: [http], serving: ["infra/*"], why: "" },
    {
      name: "a protocol in lower case",
      listeners: [{ ...http, name: "odd", protocol: "http" }, http],
      serving: ["infra/*"],
      why: 'protocol "http" is unsupported. hint: "HTTP" (uppercase) may be supported',
    },
    {
      name: "two for one host",
      listeners: [http, { ...http, name: "again" }],
      serving: ["infra/*"],
      why: "Listener has a conflict with another listener attached to the same Gateway",
    },
    {
      name: "two protocols on one port",
      listeners: [http, { ...http, name: "tcp", protocol: "TCP", hostname: "a.example" }],
      serving: ["infra/*"],
      why: "Listener has a conflict with another listener attached to the same Gateway",
    },
    {
      name: "one protocol for two hosts on one port, and another port for the same host",
      listeners: [http, { ...http, name: "own", hostname: "a.example" }, { ...http, name: "alt", port: 81 }],
      serving: ["infra/*", "infra/a.example", "infra/*"],
      why: "",
    },
    {
      name: "a certificate that is missing",
      listeners: [https("a", { name: "lost" }), https("b", { name: "cert" })],
      serving: ["infra/b.example"],
      why: "Bad TLS configuration",
    },
    {
      name: "a certificate of another namespace without a grant",
      listeners: [https("a", { name: "own", namespace: "vault" }), https("b", { name: "shared", namespace: "vault" })],
      serving: ["infra/b.example"],
      why: 'certificateRef own/vault not accessible to a Gateway in namespace "infra" (missing a ReferenceGrant?)',
    },
    {
      name: "routes of the namespaces with a label",
      listeners: [
        { ...http, allowedRoutes: { namespaces: { from: "Selector", selector: { matchLabels: { team: "a" } } } } },
      ],
      serving: ["shop/*"],
      why: "",
    },
    {
      name: "routes of no namespace",
      listeners: [{ ...http, allowedRoutes: { namespaces: { from: "None" } } }],
      serving: ["~/*"],
      why: "",
    },
  ];

for (const { name, listeners, serving, why } of cases)
  test(`listeners with ${name}`, () => {
    const plan = planned(listeners);
    assert.deepEqual(
      gatewayConfigs(plan).flatMap(({ spec }) => spec.servers.flatMap(({ hosts }) => hosts)),
      serving,
    );
    const [first] = plan.listeners
      .map(({ problems }) => problems.accepted ?? problems.conflicted ?? problems.programmed)
      .filter((problem) => problem !== undefined);
    assert.equal(first?.message ?? "", why);
  });

for (const { name, listener, isServed } of [
  { name: "TLS that passes through", listener: { protocol: "TLS", tls: { mode: "Passthrough" } }, isServed: true },
  { name: "TLS that ends there", listener: { protocol: "TLS", tls: { mode: "Terminate" } }, isServed: false },
  { name: "TLS without a mode", listener: { protocol: "TLS" }, isServed: false },
  { name: "HTTP with a mode of TLS", listener: { protocol: "HTTP", tls: { mode: "Passthrough" } }, isServed: false },
  {
    ...{ name: "HBONE that ends there", isServed: true },
    listener: { protocol: "HBONE", port: 15008, tls: { mode: "Terminate" } },
  },
  {
    ...{ name: "HBONE that passes through", isServed: false },
    listener: { protocol: "HBONE", port: 15008, tls: { mode: "Passthrough" } },
  },
  {
    ...{ name: "HBONE on another port", isServed: false },
    listener: { protocol: "HBONE", port: 15009, tls: { mode: "Terminate" } },
  },
] as const)
  test(`an east-west Gateway ${isServed ? "takes" : "refuses"} ${name}`, () => {
    const [planOfIt] = planned([{ name: "l", port: 15443, ...listener } as ListenerSpec], {
      gatewayClassName: "istio-east-west",
    }).listeners;
    const refusal = planOfIt?.problems.accepted;
    assert.equal(refusal?.reason, isServed ? undefined : "UnsupportedProtocol");
  });

test("listeners for datagrams take UDPRoutes where the setting is on, beside connections on the same port", () => {
  const udp: ListenerSpec = { name: "udp", port: 80, protocol: "UDP" };
  const texts = (udpRoutes: boolean) =>
    planned([http, udp, { ...udp, name: "again" }], {}, udpRoutes).listeners.map(
      ({ kinds, server, problems }) =>
        `${kinds.join(" ")} ${server ? "serves" : (problems.accepted ?? problems.conflicted)?.reason}`,
    );
  assert.deepEqual(texts(true), ["HTTPRoute GRPCRoute serves", "UDPRoute serves", "UDPRoute ProtocolConflict"]);
  assert.deepEqual(texts(false), ["HTTPRoute GRPCRoute serves", " UnsupportedProtocol", " UnsupportedProtocol"]);
});

test("a Gateway with one broken listener is accepted with the others, without any it is not", () => {
  const accepted = (listeners: readonly ListenerSpec[]) => {
    const status = gatewayStatus(planned(listeners), { serviceOf: () => undefined, attachedRoutes: () => 0 });
    const { status: is, reason } = status.conditions.find(({ type }) => type === "Accepted") ?? {};
    return `${is} ${reason}`;
  };
  assert.equal(accepted([http]), "True Accepted");
  assert.equal(accepted([http, https("a", { name: "lost" })]), "True ListenersNotValid");
  assert.equal(accepted([https("a", { name: "lost" })]), "False ListenersNotValid");
});

test("conflicts of listeners have their reason: plain HTTP may follow TLS for other hosts, but not go before it", () => {
  const tls = { tls: { mode: "Passthrough" } };
  const reasons = (...listeners: readonly ListenerSpec[]) =>
    planned(listeners).listeners.map(({ problems }) => problems.conflicted?.reason ?? "");
  const secure = https("s", { name: "cert" });
  assert.deepEqual(reasons(http, { ...http, name: "tcp", protocol: "TCP" }), ["", "ProtocolConflict"]);
  assert.deepEqual(reasons(http, { ...http, name: "again" }), ["", "HostnameConflict"]);
  assert.deepEqual(reasons(secure, { ...secure, ...tls, name: "t", protocol: "TLS" }), ["", "ProtocolConflict"]);
  const plain = { ...http, port: 443, hostname: "h.example" };
  assert.deepEqual(reasons(secure, plain), ["", ""]);
  assert.deepEqual(reasons(secure, { ...plain, hostname: "s.example" }, { ...plain, name: "p" }), [
    "",
    "ProtocolConflict",
    "",
  ]);
  assert.deepEqual(reasons(plain, secure), ["", "ProtocolConflict"]);
  const tcp = { name: "tcp", port: 9, protocol: "TCP" };
  assert.deepEqual(reasons(tcp, { ...tcp, name: "tcp2" }), ["", "ProtocolConflict"]);
  assert.deepEqual(reasons(secure, { ...secure, ...tls, name: "t", protocol: "TLS", hostname: "t.example" }), ["", ""]);
});

test("a listener takes the kinds of routes that its protocol has, of those that it allows", () => {
  const kindsOf = (listener: Omit<ListenerSpec, "name">, kinds?: readonly object[]) =>
    planned([{ name: "l", ...listener, ...(kinds && { allowedRoutes: { kinds } }) }]).listeners.map(
      ({ kinds: found, problems }) =>
        `${found.join(" ")}${problems.resolvedRefs ? ` ${problems.resolvedRefs.reason}` : ""}`,
    )[0];
  const terminated = { port: 443, protocol: "TLS", tls: { mode: "Terminate", certificateRefs: [{ name: "cert" }] } };
  assert.equal(kindsOf({ port: 80, protocol: "HTTP" }), "HTTPRoute GRPCRoute");
  assert.equal(kindsOf({ port: 80, protocol: "TCP" }), "TCPRoute");
  assert.equal(kindsOf(terminated), "TLSRoute TCPRoute");
  assert.equal(kindsOf({ ...terminated, tls: { mode: "Passthrough" } }), "TLSRoute");
  assert.equal(kindsOf({ port: 80, protocol: "HTTP" }, [{ kind: "GRPCRoute" }]), "GRPCRoute");
  const refused = "InvalidRouteKinds";
  assert.equal(kindsOf({ port: 80, protocol: "HTTP" }, [{ kind: "TCPRoute" }]), ` ${refused}`);
  assert.equal(kindsOf({ port: 80, protocol: "HTTP" }, [{ group: "x.io", kind: "HTTPRoute" }]), ` ${refused}`);
  assert.equal(kindsOf({ port: 80, protocol: "HTTP" }, [{ kind: "x" }, { kind: "HTTPRoute" }]), `HTTPRoute ${refused}`);
});
