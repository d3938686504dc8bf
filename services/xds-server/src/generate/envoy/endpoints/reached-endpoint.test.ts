/** Endpoints that are called through tunnels or gateways of their networks, and the destination of a tunnel. */
import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import type { Endpoint } from "@flotilla/model";
import { anEndpoint } from "../../../testing/mesh.ts";
import {
  addressText,
  gatewayTunnel,
  splitHorizon,
  type TunnelUse,
  takesHbone,
  throughWaypoint,
  withTunnel,
} from "./reached-endpoint.ts";

const endpoint = (address: string, network: string, tlsMode = "istio"): Endpoint => ({
  addresses: [address],
  servicePortName: "http",
  port: 8080,
  labels: {},
  serviceAccount: "",
  network,
  locality: "",
  clusterId: "c",
  weight: 1,
  tlsMode,
  namespace: "shop",
  workloadName: "api",
  health: "healthy",
});
const gateway = (address: string, network: string, clusterId = "c") => ({ address, network, clusterId, port: 15443 });

const cases = [
  {
    name: "the own network is reached as it is",
    endpoints: [endpoint("a", "n1")],
    gateways: { n2: [gateway("g", "n2")] },
    want: ["a:8080*1"],
  },
  {
    name: "others through their gateway",
    endpoints: [endpoint("a", "n1"), endpoint("b", "n2"), endpoint("c", "n2")],
    gateways: { n2: [gateway("g", "n2")] },
    want: ["a:8080*1", "g:15443*2"],
  },
  {
    name: "but not without the mesh's TLS",
    endpoints: [endpoint("b", "n2", "disabled")],
    gateways: { n2: [gateway("g", "n2")] },
    want: [],
  },
  {
    name: "several gateways share the weight",
    endpoints: [endpoint("a", "n1"), endpoint("b", "n2")],
    gateways: { n2: [gateway("g", "n2"), gateway("h", "n2")] },
    want: ["a:8080*2", "g:15443*1", "h:15443*1"],
  },
  {
    name: "a network without gateways is flat",
    endpoints: [endpoint("b", "n3")],
    gateways: { n2: [gateway("g", "n2")] },
    want: ["b:8080*1"],
  },
  {
    name: "those of the endpoint's cluster before others",
    endpoints: [endpoint("b", "n2")],
    gateways: { n2: [gateway("g", "n2", "x"), gateway("h", "n2")] },
    want: ["h:15443*2"],
  },
];

for (const { name, endpoints, gateways, want } of cases) {
  test(`split horizon: ${name}`, () => {
    const horizon = { network: "n1", gateways: new Map(Object.entries(gateways)), resolvesNames: true };
    const seen = splitHorizon(endpoints, horizon);
    assert.deepEqual(
      seen.map(({ addresses, port, weight }) => `${addresses[0]}:${port}*${weight}`),
      want,
    );
  });
}

const tunnelGateway = (address: string, network: string) => ({
  ...gateway(address, network),
  port: 0,
  hbonePort: 15008,
  gateway: "istio-system/eastwest",
});
const plain1 = endpoint("b", "n2", "disabled");

const ambientCases = [
  {
    name: "by tunnels, whatever an endpoint takes",
    farCalls: "tunnels",
    network: "n1",
    endpoints: [endpoint("a", "n1"), plain1],
    gateways: [tunnelGateway("192.0.2.1", "n2")],
    want: ["a:8080", "192.0.2.1:15008 for web:80"],
  },
  { name: "not without a gateway", farCalls: "tunnels", network: "n1", endpoints: [plain1], gateways: [], want: [] },
  {
    name: "not through gateways that route by SNI",
    farCalls: "tunnels",
    network: "n1",
    endpoints: [endpoint("b", "n2")],
    gateways: [gateway("192.0.2.1", "n2")],
    want: [],
  },
  {
    name: "not through a gateway without an address",
    farCalls: "tunnels",
    network: "n1",
    endpoints: [plain1],
    gateways: [tunnelGateway("east.example", "n2")],
    want: [],
  },
  {
    name: "not through a gateway that is a name, which Envoy would refuse",
    farCalls: "direct-or-gateway",
    network: "n1",
    endpoints: [endpoint("a", "n1"), endpoint("b", "n2")],
    gateways: [gateway("east.example", "n2")],
    want: ["a:8080"],
  },
  {
    name: "not where it is switched off",
    farCalls: "never",
    network: "n1",
    endpoints: [plain1],
    gateways: [tunnelGateway("192.0.2.1", "n2")],
    want: [],
  },
  {
    name: "directly by a proxy that names no network, where no gateway is known",
    farCalls: "never",
    network: "",
    endpoints: [plain1],
    gateways: [],
    want: ["b:8080"],
  },
  {
    name: "as sidecars do: by TLS through gateways that route by SNI",
    farCalls: "gateway-only",
    network: "n1",
    endpoints: [endpoint("b", "n2")],
    gateways: [gateway("192.0.2.1", "n2")],
    want: ["192.0.2.1:15443"],
  },
  {
    name: "as sidecars do: by TLS through a listener of HBONE that routes by SNI, too",
    farCalls: "gateway-only",
    network: "n1",
    endpoints: [endpoint("b", "n2")],
    gateways: [{ ...tunnelGateway("192.0.2.1", "n2"), port: 15008 }, tunnelGateway("192.0.2.2", "n2")],
    want: ["192.0.2.1:15008"],
  },
  {
    name: "as sidecars do: not through a labelled service that takes HBONE alone",
    farCalls: "gateway-only",
    network: "n1",
    endpoints: [endpoint("a", "n1"), endpoint("b", "n2")],
    gateways: [{ ...gateway("192.0.2.1", "n2"), port: 0, hbonePort: 15008 }],
    want: ["a:8080"],
  },
  {
    name: "not through gateways of a family of addresses that the proxy lacks",
    farCalls: "tunnels",
    network: "n1",
    endpoints: [plain1],
    gateways: [tunnelGateway("192.0.2.1", "n2"), tunnelGateway("2001:db8::1", "n2")],
    want: ["192.0.2.1:15008 for web:80"],
  },
  {
    name: "as sidecars do: not without a gateway",
    farCalls: "gateway-only",
    network: "n1",
    endpoints: [endpoint("a", "n1"), endpoint("b", "n2")],
    gateways: [],
    want: ["a:8080"],
  },
] as const;

test("gateways that are names stand in the place of endpoints that the proxy resolves by name", () => {
  const gateways = new Map([["n2", [gateway("east.example", "n2")]]]);
  const seen = (resolvesNames: boolean) =>
    splitHorizon([endpoint("b", "n2")], { network: "n1", gateways, resolvesNames }).map(({ addresses }) => addresses);
  assert.deepEqual([seen(true), seen(false)], [[["east.example"]], []]);
});

for (const { name, farCalls, network, endpoints, gateways, want } of ambientCases)
  test(`proxies of an ambient mesh of several networks call other networks ${name}`, () => {
    const byNetwork = Map.groupBy(gateways, (one) => one.network);
    const seen = splitHorizon(endpoints, {
      ...{ network, gateways: byNetwork, farCalls },
      ...({ ipMode: "ipv4", remoteTarget: "web:80" } as const),
    });
    assert.deepEqual(
      seen.map(({ addresses, port, tunnel }) => `${addresses[0]}:${port}${tunnel ? ` for ${tunnel.target}` : ""}`),
      want,
    );
  });

const captured = anEndpoint("10.0.0.1", { takesHbone: true });
const both = anEndpoint("10.0.0.1", { takesHbone: true, tlsMode: "istio" });
const ruledOut = { ...captured, lostMeshTls: true } as const;
const plain = anEndpoint("10.0.0.1");

const tunnelCases: readonly (readonly [string, TunnelUse, typeof plain, string | undefined])[] = [
  ["none is where the proxy sends no HBONE", "none", captured, undefined],
  ["a captured workload is called by its own address", "without-mesh-tls", captured, "10.0.0.1:8080"],
  ["the mesh's TLS counts more", "without-mesh-tls", both, undefined],
  ["also where a rule rules that out", "without-mesh-tls", ruledOut, undefined],
  ["unless HBONE is preferred", "preferred", both, "10.0.0.1:8080"],
  ["a waypoint has no other way", "waypoint", both, "10.0.0.1:8080"],
  ["a workload outside of ambient is called as it is", "preferred", plain, undefined],
  ["a name will do", "preferred", anEndpoint("db.example", { takesHbone: true }), "db.example:8080"],
];

describe("the tunnel to an endpoint", () => {
  for (const [name, tunnels, endpoint, local] of tunnelCases)
    it(name, () => assert.equal(withTunnel(endpoint, tunnels).tunnel?.local, local));
  it("ends at the waypoint before a service, for the service's address", () => {
    const destinations = { any: "10.96.0.1:80", ofClusters: { east: "10.97.0.1:80" } };
    const tunnelOf = (clusterId: string) => throughWaypoint({ ...plain, clusterId }, destinations).tunnel;
    const tunnel = { listener: "connect_originate", local: "10.96.0.1:80", waypoint: "10.0.0.1:8080" };
    assert.deepEqual(tunnelOf("own"), tunnel);
    assert.deepEqual(tunnelOf("east"), { ...tunnel, local: "10.97.0.1:80" });
  });
  it("leads to a gateway that takes HBONE, within another tunnel for the service", () => {
    const gateway = { network: "n2", clusterId: "", address: "2001:db8::1", port: 15443 };
    assert.equal(gatewayTunnel(gateway, "web:80"), undefined);
    assert.equal(gatewayTunnel({ ...gateway, hbonePort: 15008 }, ""), undefined);
    const tunnel = { listener: "inner_connect_originate", local: "[2001:db8::1]:15008", target: "web:80" };
    assert.deepEqual(gatewayTunnel({ ...gateway, hbonePort: 15008 }, "web:80"), tunnel);
  });
});

describe("an endpoint", () => {
  it("takes HBONE where it is captured, and where it is a waypoint's", () => {
    const labels = { "gateway.istio.io/managed": "istio.io-mesh-controller" };
    assert.deepEqual([captured, plain, anEndpoint("10.0.0.2", { labels })].map(takesHbone), [true, false, true]);
  });
  it("is written with brackets where its address has colons", () =>
    assert.deepEqual([addressText("10.0.0.1", 80), addressText("::1", 80)], ["10.0.0.1:80", "[::1]:80"]));
});
