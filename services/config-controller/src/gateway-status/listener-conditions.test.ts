/** Conditions of the listeners of a Gateway: what they serve, and the certificates and roots that they name. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Config } from "@flotilla/model";
import { createTestAuthority } from "@flotilla/testkit";
import { anInput, conditionsText, facts, listenersText, statusOf } from "./status-of.fixture.ts";

const host = "edge-istio.infra.svc.cluster.local";
const http = { name: "http", port: 80, protocol: "HTTP" };
const gateway = (listeners: readonly object[], more: object = {}) =>
  anInput("KubernetesGateway/infra/edge", { gatewayClassName: "istio", listeners, ...more });
const tls = (more: object, protocol = "HTTPS") => ({ name: "tls", port: 443, protocol, tls: more });
const ref = (name: string, more: object = {}) => ({ certificateRefs: [{ name, ...more }] });
const secret = (path: string, data: Readonly<Record<string, string>>) =>
  anInput(`Secret/${path}`, { data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, btoa(text)])) });
const grant = (from: string, to: string) =>
  anInput("ReferenceGrant/other/g", {
    from: [{ group: "gateway.networking.k8s.io", kind: from, namespace: "infra" }],
    to: [{ group: "", kind: to }],
  });

const garbage = secret("infra/garbage", { "tls.crt": "no certificate", "tls.key": "no key" });

const listeners: readonly (readonly [name: string, gateway: Config, others: readonly Config[], is: string])[] = [
  ["plain HTTP", gateway([http]), [], "http 0 HTTPRoute GRPCRoute: +Accepted, +Conflicted, +Programmed, +ResolvedRefs"],
  [
    "HTTPS without TLS",
    gateway([{ ...http, protocol: "HTTPS" }]),
    [],
    "http 0 HTTPRoute GRPCRoute: +Accepted, +Conflicted, +Programmed, +ResolvedRefs",
  ],
  [
    "HTTPS with a Secret that is not there",
    gateway([tls(ref("no"))]),
    [],
    "tls 0 HTTPRoute GRPCRoute: +Accepted, +Conflicted, -Programmed Invalid: Bad TLS configuration, -ResolvedRefs InvalidCertificateRef: invalid certificate reference //no., secret infra/no not found",
  ],
  [
    "HTTPS with a Secret without a certificate",
    gateway([tls(ref("empty"))]),
    [secret("infra/empty", {})],
    "tls 0 HTTPRoute GRPCRoute: +Accepted, +Conflicted, -Programmed Invalid: Bad TLS configuration, -ResolvedRefs InvalidCertificateRef: invalid certificate reference //empty., found secret, but didn't have expected keys (cert and key) or (tls.crt and tls.key); found: ",
  ],
  [
    "HTTPS with a certificate that cannot be read",
    gateway([tls(ref("garbage"))]),
    [garbage],
    "tls 0 HTTPRoute GRPCRoute: +Accepted, +Conflicted, -Programmed Invalid: Bad TLS configuration, -ResolvedRefs InvalidCertificateRef: invalid certificate reference //garbage., the certificate is malformed: tls: failed to find any PEM data in certificate input",
  ],
  [
    "HTTPS with a certificate of a wrong kind",
    gateway([tls(ref("x", { kind: "ConfigMap" }))]),
    [],
    "tls 0 HTTPRoute GRPCRoute: +Accepted, +Conflicted, -Programmed Invalid: Bad TLS configuration, -ResolvedRefs InvalidCertificateRef: invalid certificate reference /ConfigMap/x., only secret is allowed",
  ],
  [
    "HTTPS with more than two certificates",
    gateway([tls({ certificateRefs: [{ name: "a" }, { name: "b" }, { name: "c" }] })]),
    [],
    "tls 0 HTTPRoute GRPCRoute: +Accepted, +Conflicted, -Programmed Invalid: Bad TLS configuration, -ResolvedRefs InvalidCertificateRef: TLS mode can only support up to 2 server certificates",
  ],
  [
    "TLS that passes",
    gateway([tls({ mode: "Passthrough" }, "TLS")]),
    [],
    "tls 0 TLSRoute: +Accepted, +Conflicted, +Programmed, +ResolvedRefs",
  ],
  [
    "TLS that ends by the mesh's own certificates",
    gateway([tls({ options: { "gateway.istio.io/tls-terminate-mode": "ISTIO_MUTUAL" } }, "TLS")]),
    [],
    "tls 0 TLSRoute: +Accepted, +Conflicted, +Programmed, +ResolvedRefs",
  ],
  [
    "TCP",
    gateway([{ name: "tcp", port: 9000, protocol: "TCP" }]),
    [],
    "tcp 0 TCPRoute: +Accepted, +Conflicted, +Programmed, +ResolvedRefs",
  ],
  [
    "UDP",
    gateway([{ name: "udp", port: 53, protocol: "UDP" }]),
    [],
    "udp 0 UDPRoute: +Accepted, +Conflicted, +Programmed, +ResolvedRefs",
  ],
  [
    "an unknown protocol",
    gateway([{ ...http, protocol: "QUIC" }]),
    [],
    'http 0 : -Accepted UnsupportedProtocol: protocol "QUIC" is unsupported, +Conflicted, +Programmed, +ResolvedRefs',
  ],
  [
    "a protocol in small letters",
    gateway([{ ...http, protocol: "http" }]),
    [],
    'http 0 : -Accepted UnsupportedProtocol: protocol "http" is unsupported. hint: "HTTP" (uppercase) may be supported, +Conflicted, +Programmed, +ResolvedRefs',
  ],
  [
    "kinds of routes",
    gateway([{ ...http, allowedRoutes: { kinds: [{ kind: "GRPCRoute" }] } }]),
    [],
    "http 0 GRPCRoute: +Accepted, +Conflicted, +Programmed, +ResolvedRefs",
  ],
  [
    "kinds of routes that it cannot have",
    gateway([{ ...http, allowedRoutes: { kinds: [{ kind: "HTTPRoute" }, { kind: "TCPRoute" }] } }]),
    [],
    "http 0 HTTPRoute: +Accepted, +Conflicted, +Programmed, -ResolvedRefs InvalidRouteKinds: Invalid route kinds",
  ],
  [
    "kinds of another group",
    gateway([{ ...http, allowedRoutes: { kinds: [{ group: "example.com", kind: "HTTPRoute" }] } }]),
    [],
    "http 0 : +Accepted, +Conflicted, +Programmed, -ResolvedRefs InvalidRouteKinds: Invalid route kinds",
  ],
  [
    "two protocols at a port",
    gateway([http, { name: "tcp", port: 80, protocol: "TCP" }]),
    [],
    "http 0 HTTPRoute GRPCRoute: +Accepted, +Conflicted, +Programmed, +ResolvedRefs; tcp 0 TCPRoute: -Accepted ProtocolConflict: Listener has a conflict with another listener attached to the same Gateway, -Conflicted ProtocolConflict: Listener has a conflict with another listener attached to the same Gateway, -Programmed ProtocolConflict: Listener has a conflict with another listener attached to the same Gateway",
  ],
  [
    "two of a hostname at a port",
    gateway([
      { ...http, hostname: "a" },
      { ...http, name: "b", hostname: "a" },
    ]),
    [],
    "http 0 HTTPRoute GRPCRoute: +Accepted, +Conflicted, +Programmed, +ResolvedRefs; b 0 HTTPRoute GRPCRoute: -Accepted HostnameConflict: Listener has a conflict with another listener attached to the same Gateway, -Conflicted HostnameConflict: Listener has a conflict with another listener attached to the same Gateway, -Programmed HostnameConflict: Listener has a conflict with another listener attached to the same Gateway",
  ],
  [
    "two of other hostnames at a port",
    gateway([
      { ...http, hostname: "a" },
      { ...http, name: "b", hostname: "b" },
    ]),
    [],
    "http 0 HTTPRoute GRPCRoute: +Accepted, +Conflicted, +Programmed, +ResolvedRefs; b 0 HTTPRoute GRPCRoute: +Accepted, +Conflicted, +Programmed, +ResolvedRefs",
  ],
  [
    "HTTPS and TLS at a port",
    gateway([tls({ mode: "Passthrough" }, "TLS"), { ...tls({ mode: "Passthrough" }), name: "b", hostname: "b" }]),
    [],
    "tls 0 TLSRoute: +Accepted, +Conflicted, +Programmed, +ResolvedRefs; b 0 HTTPRoute GRPCRoute: +Accepted, +Conflicted, +Programmed, +ResolvedRefs",
  ],
  [
    "UDP and TCP of one number",
    gateway([
      { name: "tcp", port: 53, protocol: "TCP" },
      { name: "udp", port: 53, protocol: "UDP" },
    ]),
    [],
    "tcp 0 TCPRoute: +Accepted, +Conflicted, +Programmed, +ResolvedRefs; udp 0 UDPRoute: +Accepted, +Conflicted, +Programmed, +ResolvedRefs",
  ],
  [
    "a waypoint",
    gateway([{ name: "mesh", port: 15008, protocol: "HBONE" }], { gatewayClassName: "istio-waypoint" }),
    [],
    "mesh 0 : +Accepted, +Conflicted, +Programmed, +ResolvedRefs",
  ],
  [
    "a waypoint at another port",
    gateway([{ name: "mesh", port: 15009, protocol: "HBONE" }], { gatewayClassName: "istio-waypoint" }),
    [],
    'mesh 0 : -Accepted UnsupportedProtocol: Expected a single listener on port 15008 with protocol "HBONE", +Conflicted, +Programmed, +ResolvedRefs',
  ],
  [
    "an east-west gateway",
    gateway(
      [
        {
          name: "mesh",
          port: 15008,
          protocol: "HBONE",
          tls: { mode: "Terminate", options: { "gateway.istio.io/tls-terminate-mode": "ISTIO_MUTUAL" } },
        },
      ],
      { gatewayClassName: "istio-east-west" },
    ),
    [],
    "mesh 0 : +Accepted, +Conflicted, +Programmed, +ResolvedRefs",
  ],
  [
    "an east-west gateway of HTTP",
    gateway([http], { gatewayClassName: "istio-east-west" }),
    [],
    'http 0 HTTPRoute GRPCRoute: -Accepted UnsupportedProtocol: East-west gateway listeners must be either port 15008 with protocol "HBONE" and TLS.Mode == Terminate, or TLS with TLS.Mode == Passthrough, +Conflicted, +Programmed, +ResolvedRefs',
  ],
  [
    "an east-west gateway that passes",
    gateway([tls({ mode: "Passthrough" }, "TLS")], { gatewayClassName: "istio-east-west" }),
    [],
    "tls 0 TLSRoute: +Accepted, +Conflicted, +Programmed, +ResolvedRefs",
  ],
];

describe("a listener", () => {
  for (const [name, object, others, is] of listeners)
    it(name, () => assert.equal(listenersText(statusOf(object, others)), is));
});

const authority = await createTestAuthority();
const [pair, another] = [await authority.keyPair(), await authority.keyPair()];
const pem = { "tls.crt": pair.certificatePem, "tls.key": pair.keyPem };
const own = secret("infra/own", pem);
const theirs = secret("other/theirs", pem);
const clients = (refs: readonly object[], mode = "AllowValidOnly") => ({
  tls: { frontend: { default: { validation: { caCertificateRefs: refs, mode } } } },
});
const roots = anInput("ConfigMap/infra/roots", { data: { "ca.crt": authority.rootPem } });
const rootsRef = { group: "", kind: "ConfigMap", name: "roots" };
const withRoots = (refs: readonly object[]) => gateway([tls(ref("own"))], clients(refs));

const credentials: readonly (readonly [name: string, gateway: Config, others: readonly Config[], is: string])[] = [
  [
    "its own Secret",
    gateway([tls(ref("own"))]),
    [own],
    "tls 0 HTTPRoute GRPCRoute: +Accepted, +Conflicted, +Programmed, +ResolvedRefs",
  ],
  [
    "a key of another certificate",
    gateway([tls(ref("mixed"))]),
    [secret("infra/mixed", { ...pem, "tls.key": another.keyPem })],
    "tls 0 HTTPRoute GRPCRoute: +Accepted, +Conflicted, -Programmed Invalid: Bad TLS configuration, -ResolvedRefs InvalidCertificateRef: invalid certificate reference //mixed., the certificate is malformed: tls: private key does not match public key",
  ],
  [
    "one good Secret of two",
    gateway([tls({ certificateRefs: [{ name: "no" }, { name: "own" }] })]),
    [own],
    "tls 0 HTTPRoute GRPCRoute: +Accepted, +Conflicted, +Programmed, +ResolvedRefs",
  ],
  [
    "a Secret of another namespace",
    gateway([tls(ref("theirs", { namespace: "other" }))]),
    [theirs],
    'tls 0 HTTPRoute GRPCRoute: -Accepted NoValidCACertificate: certificateRef theirs/other not accessible to a Gateway in namespace "infra" (missing a ReferenceGrant?), +Conflicted, -Programmed Invalid: Bad TLS configuration, -ResolvedRefs RefNotPermitted: certificateRef theirs/other not accessible to a Gateway in namespace "infra" (missing a ReferenceGrant?)',
  ],
  [
    "a Secret that another namespace grants",
    gateway([tls(ref("theirs", { namespace: "other" }))]),
    [theirs, grant("Gateway", "Secret")],
    "tls 0 HTTPRoute GRPCRoute: +Accepted, +Conflicted, +Programmed, +ResolvedRefs",
  ],
  [
    "a Secret that is granted to others",
    gateway([tls(ref("theirs", { namespace: "other" }))]),
    [theirs, grant("ListenerSet", "Secret")],
    'tls 0 HTTPRoute GRPCRoute: -Accepted NoValidCACertificate: certificateRef theirs/other not accessible to a Gateway in namespace "infra" (missing a ReferenceGrant?), +Conflicted, -Programmed Invalid: Bad TLS configuration, -ResolvedRefs RefNotPermitted: certificateRef theirs/other not accessible to a Gateway in namespace "infra" (missing a ReferenceGrant?)',
  ],
  [
    "roots for clients",
    withRoots([rootsRef]),
    [own, roots],
    "tls 0 HTTPRoute GRPCRoute: +Accepted, +Conflicted, +Programmed, +ResolvedRefs",
  ],
  [
    "roots that are not there",
    withRoots([rootsRef]),
    [own],
    "tls 0 HTTPRoute GRPCRoute: -Accepted NoValidCACertificate: invalid CA certificate reference /ConfigMap/roots., configmap infra/roots not found, +Conflicted, -Programmed Invalid: Bad TLS configuration, -ResolvedRefs InvalidCACertificateRef: invalid CA certificate reference /ConfigMap/roots., configmap infra/roots not found",
  ],
  [
    "roots of a wrong kind",
    withRoots([{ ...rootsRef, kind: "Service" }]),
    [own],
    "tls 0 HTTPRoute GRPCRoute: -Accepted NoValidCACertificate: invalid CA certificate reference /Service/roots., only secret and configmap are allowed, +Conflicted, -Programmed Invalid: Bad TLS configuration, -ResolvedRefs InvalidCACertificateKind: invalid CA certificate reference /Service/roots., only secret and configmap are allowed",
  ],
  [
    "two roots",
    withRoots([rootsRef, rootsRef]),
    [own, roots],
    "tls 0 HTTPRoute GRPCRoute: -Accepted NoValidCACertificate: only one caCertificateRef is supported, +Conflicted, -Programmed Invalid: Bad TLS configuration, -ResolvedRefs InvalidCACertificateRef: only one caCertificateRef is supported",
  ],
  [
    "roots of another namespace",
    withRoots([{ ...rootsRef, namespace: "other" }]),
    [own],
    'tls 0 HTTPRoute GRPCRoute: -Accepted NoValidCACertificate: caCertificateRef other/roots not accessible to a Gateway in namespace "infra" (missing a ReferenceGrant?), +Conflicted, -Programmed Invalid: Bad TLS configuration, -ResolvedRefs RefNotPermitted: caCertificateRef other/roots not accessible to a Gateway in namespace "infra" (missing a ReferenceGrant?)',
  ],
];

describe("a listener's credentials", () => {
  for (const [name, object, others, is] of credentials)
    it(name, () => assert.equal(listenersText(statusOf(object, others)), is));
  it("may be left out by clients, which the Gateway shows", () => {
    const insecure = gateway([tls(ref("own"))], clients([rootsRef], "AllowInsecureFallback"));
    assert.equal(
      conditionsText(
        statusOf(insecure, [own, roots], { [host]: facts({ ports: [{ name: "http", number: 443 }] }) }) ?? {},
      ),
      "+Accepted, -InsecureFrontendValidationMode ConfigurationChanged: Gateway is operating in AllowInsecureFallback mode for frontend validation, +Programmed, +ResolvedRefs",
    );
  });
});
