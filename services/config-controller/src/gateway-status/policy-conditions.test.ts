/** Conditions of policies by their targets and roots, of XBackends and of InferencePools by their routes. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Config } from "@flotilla/model";
import { createTestAuthority } from "@flotilla/testkit";
import { aGateway, anInput, aRoute, httpListener, parentsText, statusOf, webServices } from "./status-of.fixture.ts";

const xBackend = (more: object = {}) =>
  anInput("XBackend/shop/out", { externalHostname: { hostname: "a.example" }, port: { port: 443 }, ...more });
const toX = (more: object = {}) => [{ group: "gateway.networking.x-k8s.io", kind: "XBackend", name: "out", ...more }];

const authority = await createTestAuthority();
const roots = anInput("ConfigMap/shop/roots", { data: { "ca.crt": authority.rootPem } });
const caRef = { group: "", kind: "ConfigMap", name: "roots" };
const policy = (spec: object, name = "p") =>
  anInput(`BackendTLSPolicy/shop/${name}`, {
    targetRefs: [{ group: "", kind: "Service", name: "web" }],
    validation: { hostname: "web", caCertificateRefs: [caRef] },
    ...spec,
  });
const validated = (validation: object) => policy({ validation: { hostname: "web", ...validation } });

const policies: readonly (readonly [name: string, policy: Config, others: readonly Config[], is: string])[] = [
  [
    "for a Service of a Gateway's route",
    policy({}),
    [aGateway(), aRoute({}), roots],
    "Service web: +Accepted, +ResolvedRefs; Gateway edge: +Accepted, +ResolvedRefs",
  ],
  ["for a Service without a route", policy({}), [roots], "Service web: +Accepted, +ResolvedRefs"],
  [
    "for a Service that is not there",
    policy({ targetRefs: [{ group: "", kind: "Service", name: "no" }] }),
    [roots],
    "Service no: -Accepted TargetNotFound: targetRefs invalid: reference shop/no (of kind Service) not found, +ResolvedRefs",
  ],
  [
    "for a port that is not there",
    policy({ targetRefs: [{ group: "", kind: "Service", name: "web", sectionName: "no" }] }),
    [roots],
    'Service web/no: -Accepted TargetNotFound: targetRefs invalid: sectionName "no" does not exist in Service shop/web, +ResolvedRefs',
  ],
  [
    "for a ServiceEntry",
    policy({ targetRefs: [{ group: "networking.istio.io", kind: "ServiceEntry", name: "e" }] }),
    [roots, anInput("ServiceEntry/shop/e", { hosts: ["a.example"], ports: [{ name: "tls", number: 443 }] })],
    "ServiceEntry e: +Accepted, +ResolvedRefs",
  ],
  [
    "with roots that are not there",
    policy({}),
    [],
    "Service web: -Accepted NoValidCACertificate: Certificate reference invalid: reference shop/roots (of kind ConfigMap) not found, -ResolvedRefs InvalidCACertificateRef: Certificate reference not found: reference shop/roots (of kind ConfigMap) not found",
  ],
  [
    "with roots of a wrong kind",
    validated({ caCertificateRefs: [{ ...caRef, kind: "Service" }] }),
    [],
    "Service web: -Accepted NoValidCACertificate: Certificate reference invalid: unsupported kind Service, -ResolvedRefs InvalidKind: Certificate reference not supported: unsupported kind Service",
  ],
  [
    "with the system's roots",
    validated({ wellKnownCACertificates: "System" }),
    [],
    "Service web: +Accepted, +ResolvedRefs",
  ],
  [
    "beside another for the same",
    policy({}, "z"),
    [policy({}, "a"), roots],
    'Service web: -Accepted Conflicted: Conflicts with BackendTLSPolicy "a" targeting the same backend, +ResolvedRefs',
  ],
  [
    "of retries",
    anInput("XBackendTrafficPolicy/shop/p", {
      targetRefs: [{ group: "", kind: "Service", name: "web" }],
      retryConstraint: {},
    }),
    [],
    "Service web: +Accepted",
  ],
  [
    "of sessions",
    anInput("XBackendTrafficPolicy/shop/p", {
      targetRefs: [{ group: "", kind: "Service", name: "web" }],
      sessionPersistence: {},
    }),
    [],
    "Service web: +Accepted",
  ],
  [
    "of a wrong target",
    anInput("XBackendTrafficPolicy/shop/p", { targetRefs: [{ group: "x", kind: "Bucket", name: "b" }] }),
    [],
    "Bucket b: -Accepted TargetNotFound: targetRefs invalid: unsupported kind Bucket",
  ],
];

describe("a policy", () => {
  for (const [name, object, others, is] of policies)
    it(name, () => assert.equal(parentsText(statusOf(object, others, webServices)), is));
});

const pool = (more: object = {}) =>
  anInput("InferencePool/shop/llm", {
    selector: { matchLabels: { app: "llm" } },
    targetPorts: [{ number: 8000 }],
    endpointPickerRef: { name: "web", port: { number: 9002 } },
    ...more,
  });
const toPool = [{ group: "inference.networking.k8s.io", kind: "InferencePool", name: "llm", port: 80 }];

const others: readonly (readonly [name: string, object: Config, others: readonly Config[], is: string])[] = [
  ["an XBackend without routes", xBackend(), [], "XBackend out: +Accepted, +ResolvedRefs"],
  [
    "an XBackend of a Gateway's route",
    xBackend(),
    [aGateway(), aRoute({ backends: toX() })],
    "XBackend out: +Accepted, +ResolvedRefs; Gateway edge: +Accepted, +ResolvedRefs",
  ],
  [
    "an XBackend that asks for client certificates",
    xBackend({ tls: { mode: "ClientAndServer" } }),
    [],
    "XBackend out: -Accepted Invalid: unsupported ClientAndServer TLS mode: Istio does not support client certificates on backend, +ResolvedRefs",
  ],
  ["a pool without routes", pool(), [], ""],
  [
    "a pool of a Gateway's route",
    pool(),
    [aGateway(), aRoute({ backends: toPool })],
    "Gateway edge: +Accepted, +ResolvedRefs",
  ],
  [
    "a pool of a route that is refused",
    pool(),
    [aGateway([{ ...httpListener, allowedRoutes: {} }]), aRoute({ backends: toPool })],
    'Gateway edge: -Accepted HTTPRouteNotAccepted: Referenced HTTPRoute shop/r not accepted by Gateway infra/edge: hostnames matched parent hostname "", but namespace "shop" is not allowed by the parent, +ResolvedRefs',
  ],
  [
    "a pool whose picker is not there",
    pool({ endpointPickerRef: { name: "no", port: { number: 9002 } } }),
    [aGateway(), aRoute({ backends: toPool })],
    "Gateway edge: +Accepted, -ResolvedRefs InvalidExtensionRef: Referenced ExtensionRef not found no",
  ],
  [
    "a pool whose picker is of a wrong kind",
    pool({ endpointPickerRef: { group: "x", kind: "Bucket", name: "web", port: { number: 9002 } } }),
    [aGateway(), aRoute({ backends: toPool })],
    "Gateway edge: +Accepted, -ResolvedRefs InvalidExtensionRef: Unsupported ExtensionRef kind Bucket",
  ],
];

describe("the status of", () => {
  for (const [name, object, more, is] of others)
    it(name, () => assert.equal(parentsText(statusOf(object, more, webServices)), is));
});
