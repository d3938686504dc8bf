/** Gateways, ListenerSets, GatewayClasses, policies, grants and pools of the Gateway API. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { problemText } from "../problem.ts";
import { createValidator } from "../validate-object.ts";
import { describeRules } from "./rules.fixture.ts";

const group = "gateway.networking.k8s.io/v1";
const http = { name: "http", port: 80, protocol: "HTTP" };
const certificateRefs = [{ name: "cert" }];
const https = { name: "https", port: 443, protocol: "HTTPS", tls: { certificateRefs } };
const gateway = (listener: object, more: object = {}) => ({
  ...{ gatewayClassName: "istio", listeners: [listener] },
  ...more,
});
const ofClass = (gatewayClassName: string, ...listeners: readonly object[]) => ({ gatewayClassName, listeners });
const hbone = { name: "mesh", port: 15_008, protocol: "HBONE" };
const frontend = (...refs: readonly string[]) => ({
  tls: {
    frontend: {
      default: { validation: { caCertificateRefs: refs.map((kind) => ({ group: "", kind, name: "roots" })) } },
    },
  },
});

describeRules(group, "Gateway", [
  [
    "has no TLS on a plain port",
    gateway(http),
    gateway({ ...http, tls: { certificateRefs } }),
    /^spec\.listeners\[0\]\.tls: must not be set with protocol HTTP/,
  ],
  [
    "terminates HTTPS",
    gateway(https),
    gateway({ ...https, tls: { mode: "Passthrough" } }),
    /^spec\.listeners\[0\]\.tls\.mode: is Terminate with protocol HTTPS/,
  ],
  [
    "has a certificate where it terminates",
    gateway(https),
    gateway({ ...https, tls: {} }),
    /^spec\.listeners\[0\]\.tls\.certificateRefs: is required to terminate TLS/,
  ],
  [
    "has no hostname on a TCP port",
    gateway({ name: "a", port: 9000, protocol: "TCP" }),
    gateway({ name: "a", port: 9000, protocol: "TCP", hostname: "a.example" }),
    /^spec\.listeners\[0\]\.hostname: must not be set with protocol TCP/,
  ],
  [
    "has each combination of port, protocol and hostname once",
    ofClass("istio", http, { ...http, name: "b", hostname: "b.example" }),
    ofClass("istio", http, { ...http, name: "b" }),
    /^spec\.listeners\[1\]: has port, protocol and hostname of listener http/,
  ],
  [
    "serves one family of protocols on a port",
    ofClass("istio", http, https),
    ofClass("istio", http, { ...https, port: 80 }),
    /^warning spec\.listeners\[1\]: is not served: it conflicts with listener http on port 80/,
  ],
  [
    "needs tls for HTTPS",
    gateway(https),
    gateway({ ...https, tls: undefined }),
    /^warning spec\.listeners\[0\]\.tls: is needed by protocol HTTPS: not served/,
  ],
  [
    "serves known protocols",
    gateway(http),
    gateway({ ...http, protocol: "http" }),
    /^warning spec\.listeners\[0\]\.protocol: "http" is not served: is HTTP meant\?/,
  ],
  [
    "is a waypoint by HBONE alone",
    ofClass("istio-waypoint", hbone),
    ofClass("istio-waypoint", http),
    /^warning spec\.listeners\[0\]\.protocol: is not served by a waypoint/,
  ],
  [
    "leads into a network by HBONE or by TLS that it passes on",
    ofClass("istio-east-west", { name: "tls", port: 15_443, protocol: "TLS", tls: { mode: "Passthrough" } }),
    ofClass("istio-east-west", http),
    /^warning spec\.listeners\[0\]\.protocol: is not served by an east-west gateway/,
  ],
  [
    "is not judged by what this mesh serves where it is another's",
    ofClass("other", { ...http, protocol: "example.com/udp" }),
    gateway({ ...http, protocol: "example.com/udp" }),
    /^warning .*is not served$/,
  ],
  [
    "has two certificates at most",
    gateway({ ...https, tls: { certificateRefs: [...certificateRefs, { name: "b" }] } }),
    gateway({ ...https, tls: { certificateRefs: [{ name: "a" }, { name: "b" }, { name: "c" }] } }),
    /^warning spec\.listeners\[0\]\.tls\.certificateRefs: has 3 certificates/,
  ],
  [
    "reads certificates from Secrets",
    gateway(https),
    gateway({ ...https, tls: { certificateRefs: [{ group: "example.com", kind: "Vault", name: "a" }] } }),
    /^warning spec\.listeners\[0\]\.tls\.certificateRefs\[0\]: example\.com\/Vault is not followed, only Secret/,
  ],
  [
    "ignores certificates where TLS is passed on",
    gateway({ name: "a", port: 443, protocol: "TLS", tls: { mode: "Passthrough" } }),
    gateway({ name: "a", port: 443, protocol: "TLS", tls: { mode: "Passthrough", certificateRefs } }),
    /^warning spec\.listeners\[0\]\.tls\.certificateRefs: has no effect in this mode/,
  ],
  [
    "knows the options of Istio",
    gateway({ ...https, tls: { certificateRefs, options: { "gateway.istio.io/tls-terminate-mode": "MUTUAL" } } }),
    gateway({
      ...https,
      tls: {
        certificateRefs,
        options: {
          "gateway.istio.io/tls-mode": "a",
          "gateway.istio.io/tls-terminate-mode": "TWO_WAY",
          "gateway.istio.io/tls-cipher-suites": "AES128-SHA,ROT13",
        },
      },
    }),
    /^warning spec\.listeners\[0\]\.tls\.options\[gateway\.istio\.io\/tls-mode\]: is no known option/,
    /^warning .*\[gateway\.istio\.io\/tls-terminate-mode\]: "TWO_WAY" is none of SIMPLE, MUTUAL/,
    /^warning .*\[gateway\.istio\.io\/tls-cipher-suites\]: not known and left out: ROT13/,
  ],
  [
    "takes routes of its protocol",
    gateway({ ...http, allowedRoutes: { kinds: [{ kind: "GRPCRoute" }] } }),
    gateway({ ...http, allowedRoutes: { kinds: [{ kind: "TCPRoute" }] } }),
    /^warning spec\.listeners\[0\]\.allowedRoutes\.kinds\[0\]: is not served here: this listener takes HTTPRoute and GRPCRoute/,
  ],
  [
    "follows addresses that are host names",
    gateway(http, { addresses: [{ type: "Hostname", value: "a" }] }),
    gateway(http, { addresses: [{ type: "NamedAddress", value: "a" }] }),
    /^warning spec\.addresses\[0\]: an address of type NamedAddress is not followed/,
  ],
  [
    "has its parameters in a ConfigMap",
    gateway(http, { infrastructure: { parametersRef: { group: "", kind: "ConfigMap", name: "a" } } }),
    gateway(http, { infrastructure: { parametersRef: { group: "a.example", kind: "Thing", name: "a" } } }),
    /^warning spec\.infrastructure\.parametersRef: a\.example\/Thing is not followed, only ConfigMap/,
  ],
  [
    "has one object with roots for clients",
    gateway(https, frontend("ConfigMap")),
    gateway(https, frontend("ConfigMap", "Pod")),
    /^warning spec\.tls\.frontend\.default\.validation\.caCertificateRefs: has more than one member/,
    /^warning .*caCertificateRefs\[1\]: \/Pod is not followed, only Secret and ConfigMap/,
  ],
  [
    "asks for certificates at its own ports",
    gateway(https, { tls: { frontend: { perPort: [{ port: 443, tls: {} }] } } }),
    gateway(https, { tls: { frontend: { perPort: [{ port: 444, tls: {} }] } } }),
    /^warning spec\.tls\.frontend\.perPort\[0\]\.port: is no listener's port/,
  ],
]);

describeRules(group, "ListenerSet", [
  [
    "belongs to a Gateway",
    { parentRef: { name: "a" }, listeners: [http] },
    { parentRef: { kind: "Service", name: "a" }, listeners: [{ ...http, tls: {} }] },
    /^warning spec\.parentRef\.kind: is no Gateway/,
    /^spec\.listeners\[0\]\.tls: must not be set with protocol HTTP/,
  ],
]);

describeRules(group, "GatewayClass", [
  [
    "has its parameters in a labelled ConfigMap",
    { controllerName: "a.example/x", parametersRef: { group: "", kind: "ConfigMap", name: "a" } },
    { controllerName: "istio.io/gateway-controller", parametersRef: { group: "", kind: "ConfigMap", name: "a" } },
    /^warning spec\.parametersRef: has no effect: .*gateway\.istio\.io\/defaults-for-class/,
  ],
]);

const service = { group: "", kind: "Service", name: "a" };
const tlsPolicy = (validation: object, more: object = {}) => ({
  ...{ targetRefs: [service], validation: { hostname: "a.example", ...validation } },
  ...more,
});
const system = { wellKnownCACertificates: "System" };
const roots = [{ group: "", kind: "ConfigMap", name: "roots" }];

describeRules(group, "BackendTLSPolicy", [
  ["has roots", tlsPolicy(system), tlsPolicy({}), /^spec\.validation\.caCertificateRefs: is required, unless/],
  [
    "has roots of one kind",
    tlsPolicy({ caCertificateRefs: roots }),
    tlsPolicy({ ...system, caCertificateRefs: roots }),
    /^spec\.validation\.wellKnownCACertificates: must not be set beside caCertificateRefs/,
  ],
  [
    "knows the system's roots alone",
    tlsPolicy(system),
    tlsPolicy({ wellKnownCACertificates: "a.example/b" }),
    /^warning .*wellKnownCACertificates: "a\.example\/b" is taken as System/,
  ],
  [
    "follows its first root, a ConfigMap",
    tlsPolicy({ caCertificateRefs: roots }),
    tlsPolicy({ caCertificateRefs: [{ group: "", kind: "Secret", name: "a" }, ...roots] }),
    /^warning spec\.validation\.caCertificateRefs: has several members/,
    /^warning spec\.validation\.caCertificateRefs\[0\]: \/Secret is not followed/,
  ],
  [
    "has the name that the type says",
    tlsPolicy({ ...system, subjectAltNames: [{ type: "URI", uri: "spiffe://a/b" }] }),
    tlsPolicy({ ...system, subjectAltNames: [{ type: "URI", hostname: "a" }] }),
    /^spec\.validation\.subjectAltNames\[0\]\.uri: is required with type URI/,
    /^spec\.validation\.subjectAltNames\[0\]\.hostname: must not be set with type URI/,
  ],
  [
    "has targets that are followed, each once",
    tlsPolicy(system, { targetRefs: [service, { ...service, sectionName: "http" }] }),
    tlsPolicy(system, { targetRefs: [service, service, { ...service, kind: "Pod" }], options: {} }),
    /^warning spec\.targetRefs\[2\]: is not followed/,
    /^spec\.targetRefs\[1\]: is a target twice/,
    /^warning spec\.options: has no effect/,
  ],
]);

describeRules("gateway.networking.x-k8s.io/v1alpha1", "XBackendTrafficPolicy", [
  [
    "has intervals between a second and an hour",
    { targetRefs: [service], retryConstraint: { budget: { interval: "10s" } } },
    { targetRefs: [service], retryConstraint: { budget: { interval: "2h" }, minRetryRate: { interval: "1x" } } },
    /^spec\.retryConstraint\.budget\.interval: 2h is not in range/,
    /^spec\.retryConstraint\.minRetryRate\.interval: "1x" is no duration/,
    /^warning spec\.retryConstraint\.minRetryRate\.interval: has no effect/,
  ],
  [
    "leaves sessions to routes",
    { targetRefs: [service] },
    { targetRefs: [service], sessionPersistence: {} },
    /^warning spec\.sessionPersistence: is not followed/,
  ],
]);

const to = [{ group: "", kind: "Secret" }];
describeRules(group, "ReferenceGrant", [
  [
    "names the group of routes and Gateways, and kinds as they are written",
    { from: [{ group: "gateway.networking.k8s.io", kind: "HTTPRoute", namespace: "a" }], to },
    { from: [{ group: "", kind: "HttpRoute", namespace: "a" }], to },
    /^warning spec\.from\[0\]\.group: is gateway\.networking\.k8s\.io/,
    /^warning spec\.from\[0\]\.kind: "HttpRoute" is no kind: is HTTPRoute meant\?/,
  ],
]);

const pool = { selector: { matchLabels: { app: "a" } }, targetPorts: [{ number: 8000 }] };
const picker = { name: "epp", port: { number: 9002 } };
describeRules("inference.networking.k8s.io/v1", "InferencePool", [
  [
    "has an endpoint picker with a port, which is a Service",
    { ...pool, endpointPickerRef: picker },
    { ...pool, endpointPickerRef: { kind: "Pod", name: "epp" } },
    /^warning spec\.endpointPickerRef\.port: is not set: nothing is routed/,
    /^warning spec\.endpointPickerRef\.kind: "Pod" is not followed/,
  ],
  ["has one at all", { ...pool, endpointPickerRef: picker }, pool, /^warning spec\.endpointPickerRef: is not set/],
  [
    "has each port once",
    { ...pool, endpointPickerRef: picker },
    { ...pool, endpointPickerRef: picker, targetPorts: [{ number: 1 }, { number: 1 }] },
    /^spec\.targetPorts\[1\]\.number: is there twice/,
  ],
]);

describe("the schema of the Gateway API's kinds", () => {
  const validate = createValidator();
  const found = (kind: string, spec: object, apiVersion = group) =>
    validate({ apiVersion, kind, metadata: { name: "a", namespace: "b" }, spec }).map(
      (problem) => `${problem.severity} ${problemText(problem)}`,
    );

  it("refuses wrong types, bounds and names", () => {
    assert.match(found("Gateway", gateway({ ...http, port: "80" }))[0] ?? "", /^error spec\.listeners\[0\]\.port: /);
    assert.match(found("Gateway", gateway({ ...http, port: 0 }))[0] ?? "", /^error spec\.listeners\[0\]\.port: /);
    assert.match(found("Gateway", { listeners: [http] })[0] ?? "", /^error spec\.gatewayClassName: Required value/);
    assert.match(
      found("Gateway", ofClass("istio", http, { ...http, port: 81 }))[0] ?? "",
      /^error spec\.listeners\[1\]: Duplicate value/,
    );
    assert.match(found("ReferenceGrant", { from: [], to })[0] ?? "", /^error spec\.from: /);
    assert.match(found("GatewayClass", { controllerName: "istio" })[0] ?? "", /^error spec\.controllerName: /);
    assert.match(
      found("BackendTLSPolicy", tlsPolicy({ ...system, hostname: "*.a" }))[0] ?? "",
      /^error spec\.validation\.hostname: /,
    );
  });

  it("warns of fields without effect", () => {
    assert.deepEqual(found("Gateway", gateway({ ...http, hostName: "a" })), [
      "warning spec.listeners[0].hostName: unknown field",
    ]);
  });
});
