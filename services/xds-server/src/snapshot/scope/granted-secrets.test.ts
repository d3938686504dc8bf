/** Secrets that a caller may be sent, and destinations of routes that lead nowhere. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Config, type Proxy, parseCredentialName, type Service } from "@flotilla/model";
import type { JsonObject } from "@flotilla/proto";
import { aConfig, aRouter, aService, aSidecar, put } from "../../testing/mesh.ts";
import { snapshotOf } from "../../testing/snapshot.ts";
import type { SecretAccess } from "../subject.ts";
import { query } from "../view.ts";
import { isGranted } from "./granted-secrets.ts";
import { routedServices } from "./routed-services.ts";
import { unknownDestinations, virtualServiceName } from "./virtual-service.ts";

const rule = (spec: JsonObject, namespace = "shop") =>
  aConfig("DestinationRule", namespace, "r", {
    host: "x.example",
    workloadSelector: { matchLabels: { app: "web" } },
    ...spec,
  });
const tls = { mode: "MUTUAL", credentialName: "pair" };

interface Case {
  readonly name: string;
  readonly resource?: string;
  readonly rules?: readonly Config[];
  readonly proxy?: Proxy;
  readonly access?: SecretAccess;
  readonly want: boolean;
}

const cases: readonly Case[] = [
  { name: "a sidecar, by itself", want: false },
  { name: "a router, where no permission is known", proxy: aRouter("shop"), want: true },
  { name: "a router whose account may not", proxy: aRouter("shop"), access: "refused", want: false },
  { name: "a sidecar whose account may", access: "granted", want: true },
  { name: "roots, to anybody", resource: "kubernetes://pair-cacert", access: "refused", want: true },
  { name: "a sidecar that a rule names the pair for", rules: [rule({ trafficPolicy: { tls } })], want: true },
  {
    name: "a sidecar whose account may not, whatever rules say",
    rules: [rule({ trafficPolicy: { tls } })],
    access: "refused",
    want: false,
  },
  {
    name: "a port's TLS settings count",
    rules: [rule({ trafficPolicy: { portLevelSettings: [{ port: { number: 80 }, tls }] } })],
    want: true,
  },
  { name: "a subset's count", rules: [rule({ subsets: [{ name: "v1", trafficPolicy: { tls } }] })], want: true },
  {
    name: "another pair does not",
    rules: [rule({ trafficPolicy: { tls: { ...tls, credentialName: "other" } } })],
    want: false,
  },
  {
    name: "a rule for other workloads does not",
    rules: [rule({ trafficPolicy: { tls }, workloadSelector: { matchLabels: { app: "other" } } })],
    want: false,
  },
  {
    name: "a rule without a selector does not",
    rules: [aConfig("DestinationRule", "shop", "r", { host: "x.example", trafficPolicy: { tls } })],
    want: false,
  },
  { name: "a rule of another namespace does not", rules: [rule({ trafficPolicy: { tls } }, "bank")], want: false },
  {
    name: "a pair that a Gateway without proxies names",
    resource: "kubernetes-gateway://shop/pair",
    proxy: aRouter("shop"),
    want: false,
  },
];

describe("a Secret is granted to", () => {
  for (const { name, resource = "kubernetes://pair", rules = [], proxy = aSidecar("shop"), access, want } of cases)
    it(`${want ? "" : "none: "}${name}`, () => {
      const parsed = parseCredentialName(resource);
      assert.ok(parsed !== undefined);
      const granted = query<boolean>("test-granted", (view) => isGranted(view, parsed, resource));
      const subject = access === undefined ? {} : { secretAccess: access };
      assert.equal(snapshotOf({ changes: put(...rules), proxy, subject }).read(granted), want);
    });

  const gateway = (namespace: string, selector: JsonObject) =>
    aConfig("Gateway", namespace, "g", {
      selector,
      servers: [
        {
          port: { number: 443, name: "https", protocol: "HTTPS" },
          hosts: ["*"],
          tls: { mode: "SIMPLE", credentialName: "kubernetes-gateway://shop/pair" },
        },
      ],
    });
  for (const [name, selector, want] of [
    ["the router that a Gateway which names it is for", { app: "gateway" }, true],
    ["none: a router that the Gateway does not select", { app: "other" }, false],
  ] as const)
    it(name, () => {
      const resource = "kubernetes-gateway://shop/pair";
      const parsed = parseCredentialName(resource);
      assert.ok(parsed !== undefined);
      const granted = query<boolean>("test-granted", (view) => isGranted(view, parsed, resource));
      assert.equal(snapshotOf({ changes: put(gateway("shop", selector)), proxy: aRouter("shop") }).read(granted), want);
    });
});

describe("destinations that lead nowhere", () => {
  const host = "a.shop.svc.cluster.local";
  const to = (destination: JsonObject) => ({ route: [{ destination }] });
  const routes = (http: readonly JsonObject[], more: JsonObject = {}) =>
    aConfig("VirtualService", "shop", "v", { hosts: ["v.example"], http: [...http], ...more });
  const subsets = aConfig("DestinationRule", "shop", "r", {
    host,
    subsets: [{ name: "v1", labels: { version: "v1" } }],
  });
  const missing = query<readonly string[]>("test-missing", (view) =>
    view.read(unknownDestinations, virtualServiceName.write({ namespace: "shop", name: "v" })),
  );
  const lists: readonly (readonly [string, readonly (Config | Service)[], readonly string[]])[] = [
    ["none: a service that is there", [aService("a", "shop"), routes([to({ host: "a" })])], []],
    ["a host of no service", [routes([to({ host: "none.example" })])], ["host none.example"]],
    ["each once", [routes([to({ host: "x.example" }), to({ host: "x.example" })])], ["host x.example"]],
    [
      "a service that is not exported to it",
      [aService("a", "bank", { exportTo: ["."] }), routes([to({ host: "a.bank" })])],
      ["host a.bank"],
    ],
    ["none: a subset that a rule has", [aService("a", "shop"), subsets, routes([to({ host, subset: "v1" })])], []],
    [
      "a subset that no rule has",
      [aService("a", "shop"), subsets, routes([to({ host, subset: "v2" })])],
      [`subset v2 of ${host}`],
    ],
    [
      "of mirrors",
      [
        routes([
          { ...to({ host: "x" }), mirror: { host: "m.example" }, mirrors: [{ destination: { host: "n.example" } }] },
        ]),
        aService("x", "shop"),
      ],
      ["host n.example", "host m.example"],
    ],
    [
      "of TCP and TLS routes",
      [
        routes([], {
          tcp: [to({ host: "t.example" })],
          tls: [{ match: [{ sniHosts: ["v.example"] }], ...to({ host: "s.example" }) }],
        }),
      ],
      ["host t.example", "host s.example"],
    ],
    ["none: a VirtualService that is not there", [], []],
  ];
  for (const [name, values, want] of lists)
    it(name, () => assert.deepEqual(snapshotOf({ changes: put(...values) }).read(missing), want));

  it("are reported under the VirtualService, in one sentence", () => {
    const changes = put(routes([to({ host: "x.example" }), to({ host: "y.example" })]));
    const findings = snapshotOf({ changes }).findings(missing);
    assert.deepEqual(findings, [
      {
        metric: "flotilla_unknown_destination",
        object: "VirtualService/shop/v",
        message: "routes lead nowhere: there is no host x.example, no host y.example",
      },
    ]);
  });
});

describe("the services that a router has clusters of", () => {
  const routed = query<readonly string[]>("test-routed", (view) => routedServices(view).map(({ name }) => name));
  const gateway = aConfig("Gateway", "shop", "g", {
    selector: { app: "gateway" },
    servers: [{ port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["*"] }],
  });
  const route = aConfig("VirtualService", "shop", "v", {
    hosts: ["v.example"],
    gateways: ["g"],
    http: [{ route: [{ destination: { host: "a.shop.svc.cluster.local" } }] }],
  });
  const jwt = aConfig("RequestAuthentication", "shop", "j", {
    jwtRules: [{ issuer: "i", jwksUri: "https://keys.shop.svc.cluster.local/jwks" }],
  });
  const provider = (service: string) =>
    aConfig("MeshConfig", "istio-system", "istio", {
      rootNamespace: "istio-system",
      extensionProviders: [{ name: "p", envoyExtAuthzGrpc: { service, port: 9000 } }],
    });
  const services = ["a", "b", "keys", "authz"].map((name) => aService(name, "shop"));
  const of = (filterGatewayClusterConfig: boolean, ...configs: readonly Config[]) =>
    snapshotOf({
      changes: put(...services, gateway, ...configs),
      proxy: aRouter("shop"),
      features: { filterGatewayClusterConfig },
    }).read(routed);

  const lists: readonly (readonly [string, readonly string[], readonly string[]])[] = [
    ["are all without the setting", of(false, route), ["a", "authz", "b", "keys"]],
    ["are those of its routes with it", of(true, route), ["a"]],
    ["and where keys of tokens are fetched", of(true, route, jwt), ["a", "keys"]],
    ["and providers of the mesh", of(true, provider("authz.shop.svc.cluster.local")), ["authz"]],
    ["and providers by namespace and host", of(true, provider("shop/authz.shop.svc.cluster.local")), ["authz"]],
    ["none where nothing leads anywhere", of(true), []],
  ];
  for (const [name, found, want] of lists) it(name, () => assert.deepEqual([...found].sort(), want));
});
