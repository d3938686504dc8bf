import assert from "node:assert/strict";
import { test } from "node:test";
import { type JsonObject, typeUrl } from "@flotilla/proto";
import { nameSet } from "@flotilla/xds";
import { Core } from "../../app/core.ts";
import { aConfig, aMesh, aPort, apply, aService, aSidecar } from "../../testing/mesh.ts";
import type { Features } from "../features.ts";
import { networkGateways } from "./network-gateways.ts";

const autoPassthrough = { mode: "Passthrough", options: { "gateway.istio.io/listener-protocol": "auto-passthrough" } };

function gateway(network: string, spec: JsonObject) {
  const labels: Readonly<Record<string, string>> = network === "" ? {} : { "topology.istio.io/network": network };
  return { ...aConfig("KubernetesGateway", "istio-system", "eastwest", spec), labels };
}

const meshNetworks = (networks: JsonObject) => aConfig("MeshNetworks", "istio-system", "istio", { networks });

const cases = [
  {
    name: "a service with the label, at its external addresses",
    values: [
      aService("eastwest", "istio-system", {
        labels: { "topology.istio.io/network": "n2" },
        ports: [aPort("tls", 15443, "TLS")],
        clusterExternalAddresses: { east: ["192.0.2.1"] },
      }),
    ],
    want: ["n2 east 192.0.2.1:15443"],
  },
  {
    name: "a Gateway with the label, at the listeners that lead on by SNI",
    values: [
      gateway("n2", {
        addresses: [{ value: "192.0.2.2" }, { type: "Hostname", value: "gw.example" }, { type: "Named", value: "x" }],
        listeners: [
          { name: "control", port: 15012, tls: { mode: "Passthrough" } },
          { name: "cross", port: 35443, tls: autoPassthrough },
        ],
      }),
    ],
    want: ["n2 Kubernetes 192.0.2.2:35443", "n2 Kubernetes gw.example:35443"],
  },
  {
    name: "a Gateway with the label, at the port that is usual or named by a label",
    values: [
      gateway("n2", {
        addresses: [{ value: "192.0.2.2" }],
        listeners: [
          { port: 15443, tls: { mode: "Passthrough" } },
          { port: 15444, tls: { mode: "Passthrough" } },
          { port: 15443 },
        ],
      }),
    ],
    want: ["n2 Kubernetes 192.0.2.2:15443"],
  },
  {
    name: "no other Gateway",
    values: [gateway("", { addresses: [{ value: "192.0.2.2" }], listeners: [{ port: 15443, tls: autoPassthrough }] })],
    want: [],
  },
  {
    name: "an address of MeshNetworks",
    values: [meshNetworks({ n2: { gateways: [{ address: "192.0.2.3", port: 443 }], endpoints: [] } })],
    want: ["n2  192.0.2.3:443"],
  },
  {
    name: "a service of MeshNetworks, in the clusters of the network alone",
    values: [
      meshNetworks({
        n2: {
          gateways: [{ registryServiceName: "eastwest.istio-system.svc.cluster.local", port: 443 }],
          endpoints: [{ fromRegistry: "east" }, { fromCidr: "10.0.0.0/8" }],
        },
      }),
      aService("eastwest", "istio-system", {
        clusterExternalAddresses: { east: ["192.0.2.4"], west: ["192.0.2.5"] },
        clusterExternalPorts: { east: { 443: 30443 } },
      }),
    ],
    want: ["n2 east 192.0.2.4:30443"],
  },
  {
    name: "a service with the label, at the port that a label names, in order of addresses",
    values: [
      aService("eastwest", "istio-system", {
        labels: { "topology.istio.io/network": "n2", "networking.istio.io/gatewayPort": "35443" },
        ports: [aPort("tls", 35443, "TLS")],
        clusterExternalAddresses: { east: ["192.0.2.9", "192.0.2.1"], west: ["192.0.2.1"] },
      }),
    ],
    want: ["n2 east 192.0.2.1:35443", "n2 west 192.0.2.1:35443", "n2 east 192.0.2.9:35443"],
  },
  {
    name: "a Gateway of a cluster that it names, with tunnels and without",
    values: [
      {
        ...gateway("n2", {
          addresses: [{ value: "192.0.2.2" }],
          listeners: [
            { name: "mesh", port: 15008, protocol: "HBONE" },
            { name: "cross", port: 15443, tls: { mode: "Passthrough" } },
          ],
        }),
        labels: { "topology.istio.io/network": "n2", "topology.istio.io/cluster": "east" },
      },
    ],
    want: ["n2 east 192.0.2.2:0 hbone 15008", "n2 east 192.0.2.2:15443"],
  },
  {
    name: "a service with the label by the ports that it has",
    values: [
      aService("tunnels", "istio-system", {
        labels: { "topology.istio.io/network": "n2" },
        ports: [aPort("hbone", 15008, "HTTP2")],
        clusterExternalAddresses: { east: ["192.0.2.1"] },
      }),
      aService("both", "istio-system", {
        labels: { "topology.istio.io/network": "n2" },
        ports: [aPort("tls", 15443, "TLS"), aPort("hbone", 15008, "HTTP2")],
        clusterExternalAddresses: { east: ["192.0.2.2"] },
      }),
      aService("neither", "istio-system", {
        labels: { "topology.istio.io/network": "n2" },
        clusterExternalAddresses: { east: ["192.0.2.3"] },
      }),
    ],
    want: ["n2 east 192.0.2.1:0 hbone 15008", "n2 east 192.0.2.2:15443 hbone 15008"],
  },
];

for (const { name, values, want } of cases) {
  test(`ways into a network: ${name}`, () => {
    const core = aMesh(...values);
    const found = core.read(networkGateways, core.subjectOf(aSidecar("shop")));
    const texts = [...found.values()]
      .flat()
      .map(
        ({ network, clusterId, address, port, hbonePort }) =>
          `${network} ${clusterId} ${address}:${port}${hbonePort === undefined ? "" : ` hbone ${hbonePort}`}`,
      );
    assert.deepEqual(texts, want);
  });
}

test("ways into a network: without RESOLVE_HOSTNAME_GATEWAYS those by name are left out", () => {
  const gateways = [
    { address: "gw.example", port: 443 },
    { address: "2001:db8::3", port: 443 },
  ];
  const addressesOf = (features: Partial<Features>) => {
    const core = new Core({ features });
    apply(core, meshNetworks({ n2: { gateways, endpoints: [] } }));
    return [...core.read(networkGateways, core.subjectOf(aSidecar("shop"))).values()]
      .flat()
      .map(({ address }) => address);
  };
  assert.deepEqual(addressesOf({}), ["2001:db8::3", "gw.example"]);
  assert.deepEqual(addressesOf({ resolvesNetworkGateways: false }), ["2001:db8::3"]);
});

test("a gateway that is a name is reported", () => {
  const networks = meshNetworks({ n2: { gateways: [{ address: "gw.example", port: 443 }], endpoints: [] } });
  const web = aService("web", "shop");
  const core = aMesh(networks, web);
  const names = nameSet([`outbound|80||${web.hostname}`]);
  core.observe(core.subjectOf(aSidecar("shop")), typeUrl.endpoint, names, () => undefined);
  assert.deepEqual(
    core.findings().map(({ metric, object }) => [metric, object]),
    [["flotilla_unresolved_network_gateway", "network/n2"]],
  );
});
