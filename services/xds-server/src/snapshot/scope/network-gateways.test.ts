import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@flotilla/proto";
import { aConfig, aMesh, aService, aSidecar } from "../../testing/mesh.ts";
import { networkGateways } from "./network-gateways.ts";

const autoPassthrough = { mode: "Passthrough", options: { "gateway.istio.io/listener-protocol": "auto-passthrough" } };

function gateway(network: string, spec: JsonObject) {
  const labels: Readonly<Record<string, string>> = network === "" ? {} : { "topology.istio.io/network": network };
  return { ...aConfig("KubernetesGateway", "istio-system", "eastwest", spec), labels };
}

const cases = [
  {
    name: "a service with the label, at its external addresses",
    values: [
      aService("eastwest", "istio-system", {
        labels: { "topology.istio.io/network": "n2" },
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
    want: ["n2  192.0.2.2:35443", "n2  gw.example:35443"],
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
    want: ["n2  192.0.2.2:15443"],
  },
  {
    name: "no other Gateway",
    values: [gateway("", { addresses: [{ value: "192.0.2.2" }], listeners: [{ port: 15443, tls: autoPassthrough }] })],
    want: [],
  },
];

for (const { name, values, want } of cases) {
  test(`ways into a network: ${name}`, () => {
    const core = aMesh(...values);
    const found = core.read(networkGateways, core.subjectOf(aSidecar("shop")));
    const texts = [...found.values()]
      .flat()
      .map(({ network, clusterId, address, port }) => `${network} ${clusterId} ${address}:${port}`);
    assert.deepEqual(texts, want);
  });
}
