/** Conditions of routes by their parents and back ends, and which of them a listener counts. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Config } from "@flotilla/model";
import {
  aGateway,
  anInput,
  aRoute,
  edge,
  type GivenRoute,
  httpListener,
  listenersText,
  parentsText,
  statusOf,
  web,
  webServices,
} from "./status-of.fixture.ts";

const namespaces = ["shop", "infra"].map((name) => anInput(`Namespace//${name}`, {}, { team: name }));
interface Given extends GivenRoute {
  readonly others?: readonly Config[];
}

const grant = anInput("ReferenceGrant/other/g", {
  from: [{ group: "gateway.networking.k8s.io", kind: "HTTPRoute", namespace: "shop" }],
  to: [{ group: "", kind: "Service" }],
});
const elsewhere = [{ name: "web", namespace: "other", port: 80 }];
const xBackend = (more: object = {}) =>
  anInput("XBackend/shop/out", { externalHostname: { hostname: "a.example" }, port: { port: 443 }, ...more });
const toX = (more: object = {}) => [{ group: "gateway.networking.x-k8s.io", kind: "XBackend", name: "out", ...more }];
const mesh = { group: "", kind: "Service", name: "web" };

const attached: readonly (readonly [name: string, given: Given, is: string])[] = [
  ["to a Gateway", {}, "Gateway edge: +Accepted, +ResolvedRefs"],
  ["to a Gateway that is not there", { parents: [{ name: "no", namespace: "infra" }] }, ""],
  ["to a Gateway of others", { others: [aGateway([httpListener], { gatewayClassName: "nginx" })] }, ""],
  [
    "to a listener by name",
    { parents: [{ ...edge, sectionName: "http" }] },
    "Gateway edge/http: +Accepted, +ResolvedRefs",
  ],
  [
    "to a listener that is not there",
    { parents: [{ ...edge, sectionName: "no" }] },
    'Gateway edge/no: -Accepted NoMatchingParent: sectionName "no" not found, +ResolvedRefs',
  ],
  ["to a port", { parents: [{ ...edge, port: 80 }] }, "Gateway edge: +Accepted, +ResolvedRefs"],
  [
    "to a port that is not there",
    { parents: [{ ...edge, port: 81 }] },
    "Gateway edge: -Accepted NoMatchingParent: port 81 not found, +ResolvedRefs",
  ],
  [
    "to two listeners",
    { others: [aGateway([httpListener, { ...httpListener, name: "b", port: 81 }])] },
    "Gateway edge: +Accepted, +ResolvedRefs",
  ],
  [
    "from a namespace that may not",
    { others: [aGateway([{ ...httpListener, allowedRoutes: {} }])] },
    'Gateway edge: -Accepted NotAllowedByListeners: hostnames matched parent hostname "", but namespace "shop" is not allowed by the parent, +ResolvedRefs',
  ],
  [
    "from a namespace that may by its label",
    {
      others: [
        aGateway([
          {
            ...httpListener,
            allowedRoutes: { namespaces: { from: "Selector", selector: { matchLabels: { team: "shop" } } } },
          },
        ]),
        ...namespaces,
      ],
    },
    "Gateway edge: +Accepted, +ResolvedRefs",
  ],
  [
    "from a namespace of another label",
    {
      others: [
        aGateway([
          {
            ...httpListener,
            allowedRoutes: { namespaces: { from: "Selector", selector: { matchLabels: { team: "infra" } } } },
          },
        ]),
        ...namespaces,
      ],
    },
    'Gateway edge: -Accepted NotAllowedByListeners: hostnames matched parent hostname "", but namespace "shop" is not allowed by the parent, +ResolvedRefs',
  ],
  [
    "by a hostname of the listener",
    { spec: { hostnames: ["a.example"] }, others: [aGateway([{ ...httpListener, hostname: "*.example" }])] },
    "Gateway edge: +Accepted, +ResolvedRefs",
  ],
  [
    "by a hostname of no listener",
    { spec: { hostnames: ["a.test"] }, others: [aGateway([{ ...httpListener, hostname: "*.example" }])] },
    'Gateway edge: -Accepted NoMatchingListenerHostname: no hostnames matched parent hostname "*.example", +ResolvedRefs',
  ],
  [
    "as a kind that the listener does not take",
    { kind: "TCPRoute" },
    "Gateway edge: -Accepted NotAllowedByListeners: kind gateway.networking.k8s.io/v1/TCPRoute is not allowed, +ResolvedRefs",
  ],
  ["to a Service of the mesh", { parents: [mesh] }, "Service web: +Accepted, +ResolvedRefs"],
  [
    "to a Service that is not there",
    { parents: [{ ...mesh, name: "no" }] },
    'Service no: -Accepted NoMatchingParent: parent service: "no" not found, +ResolvedRefs',
  ],
  [
    "to a ServiceEntry",
    {
      parents: [{ group: "networking.istio.io", kind: "ServiceEntry", name: "e" }],
      others: [anInput("ServiceEntry/shop/e", { hosts: ["a.example", "b.example"] })],
    },
    "ServiceEntry e: +Accepted, +ResolvedRefs",
  ],
  [
    "to a ServiceEntry that is not there",
    { parents: [{ group: "networking.istio.io", kind: "ServiceEntry", name: "e" }] },
    'ServiceEntry e: -Accepted NoMatchingParent: parent service entry: "e" not found, +ResolvedRefs',
  ],
  [
    "to a ServiceEntry behind a waypoint of others",
    {
      parents: [{ group: "networking.istio.io", kind: "ServiceEntry", name: "e" }],
      others: [anInput("ServiceEntry/shop/e", { hosts: ["a.example"] }, { "istio.io/use-waypoint": "w" })],
    },
    "",
  ],
  [
    "to a Gateway and the mesh",
    { parents: [edge, mesh] },
    "Gateway edge: +Accepted, +ResolvedRefs; Service web: +Accepted, +ResolvedRefs",
  ],
  ["as datagrams to the mesh", { kind: "UDPRoute", parents: [mesh] }, ""],
];

const backends: readonly (readonly [name: string, given: Given, is: string])[] = [
  [
    "a Service that is not there",
    { backends: [{ name: "no", port: 80 }] },
    "Gateway edge: +Accepted, -ResolvedRefs BackendNotFound: backend(no.shop.svc.cluster.local) not found",
  ],
  [
    "one without traffic that is not there",
    { backends: [...web, { name: "no", port: 80, weight: 0 }] },
    "Gateway edge: +Accepted, +ResolvedRefs",
  ],
  [
    "a Service without a port",
    { backends: [{ name: "web" }] },
    "Gateway edge: +Accepted, -ResolvedRefs InvalidDestination: port is required in backendRef",
  ],
  [
    "an unknown kind",
    { backends: [{ group: "example.com", kind: "Bucket", name: "b", port: 80 }] },
    'Gateway edge: +Accepted, -ResolvedRefs InvalidKind: referencing unsupported backendRef: group "example.com" kind "Bucket"',
  ],
  [
    "a Service of another namespace",
    { backends: elsewhere },
    'Gateway edge: +Accepted, -ResolvedRefs RefNotPermitted: backendRef web/other not accessible to a HTTPRoute in namespace "shop" (missing a ReferenceGrant?)',
  ],
  [
    "a Service that another namespace grants",
    { backends: elsewhere, others: [aGateway(), grant] },
    "Gateway edge: +Accepted, +ResolvedRefs",
  ],
  [
    "a Service of another namespace, from the mesh",
    { parents: [mesh], backends: elsewhere },
    "Service web: +Accepted, +ResolvedRefs",
  ],
  [
    "a mirror that is not there",
    { rule: { filters: [{ type: "RequestMirror", requestMirror: { backendRef: { name: "no", port: 80 } } }] } },
    "Gateway edge: +Accepted, -ResolvedRefs BackendNotFound: backend(no.shop.svc.cluster.local) not found",
  ],
  [
    "a host",
    { backends: [{ group: "networking.istio.io", kind: "Hostname", name: "web.other.svc.cluster.local", port: 80 }] },
    "Gateway edge: +Accepted, +ResolvedRefs",
  ],
  [
    "an unknown host",
    { backends: [{ group: "networking.istio.io", kind: "Hostname", name: "no.example", port: 80 }] },
    "Gateway edge: +Accepted, -ResolvedRefs BackendNotFound: backend(no.example) not found",
  ],
  [
    "a host with a namespace",
    { backends: [{ group: "networking.istio.io", kind: "Hostname", name: "no.example", namespace: "a", port: 80 }] },
    "Gateway edge: +Accepted, -ResolvedRefs InvalidDestination: namespace may not be set with Hostname type",
  ],
  ["an XBackend", { backends: toX(), others: [aGateway(), xBackend()] }, "Gateway edge: +Accepted, +ResolvedRefs"],
  [
    "an XBackend that is not there",
    { backends: toX() },
    "Gateway edge: +Accepted, -ResolvedRefs BackendNotFound: backend(out) not found",
  ],
  [
    "an XBackend at another port",
    { backends: toX({ port: 80 }), others: [aGateway(), xBackend()] },
    "Gateway edge: +Accepted, -ResolvedRefs BackendNotFound: backend(out) does not expose port 80, expected 443",
  ],
  [
    "a pool that is not there",
    { backends: [{ group: "inference.networking.k8s.io", kind: "InferencePool", name: "llm", port: 80 }] },
    "Gateway edge: +Accepted, -ResolvedRefs BackendNotFound: backend(llm-ip-487b9104.shop.svc.cluster.local) not found",
  ],
  [
    "an unknown filter",
    { rule: { filters: [{ type: "ExtensionRef", extensionRef: { group: "x", kind: "y", name: "z" } }] } },
    'Gateway edge: +Accepted, -ResolvedRefs InvalidFilter: unsupported filter type "ExtensionRef"',
  ],
];

describe("a route attaches", () => {
  for (const [name, given, is] of attached)
    it(name, () => assert.equal(parentsText(statusOf(aRoute(given), given.others ?? [aGateway()], webServices)), is));
});

describe("a route's back ends", () => {
  for (const [name, given, is] of backends)
    it(name, () => assert.equal(parentsText(statusOf(aRoute(given), given.others ?? [aGateway()], webServices)), is));
});

describe("routes of a listener", () => {
  const of = (...given: readonly Given[]) => {
    const routes = given.map((one, i) => ({ ...aRoute(one), key: { ...aRoute(one).key, name: `r${i}` } }));
    return listenersText(
      statusOf(aGateway([httpListener, { ...httpListener, name: "b", port: 81 }]), routes, webServices),
    );
  };
  it("are counted by listener, each once", () => {
    assert.match(
      of(
        {},
        {
          parents: [
            { ...edge, sectionName: "b" },
            { ...edge, port: 81 },
          ],
        },
      ),
      /^http 1 .*; b 2 /,
    );
  });
  it("are not counted where they do not attach", () => {
    assert.match(of({ kind: "TCPRoute" }, { parents: [{ ...edge, name: "other" }] }), /^http 0 .*; b 0 /);
  });
});
