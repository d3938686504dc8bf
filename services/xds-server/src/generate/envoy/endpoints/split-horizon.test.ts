import assert from "node:assert/strict";
import { test } from "node:test";
import type { Endpoint } from "@flotilla/model";
import { splitHorizon } from "./split-horizon.ts";

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
    const seen = splitHorizon(endpoints, { network: "n1", gateways: new Map(Object.entries(gateways)) });
    assert.deepEqual(
      seen.map(({ addresses, port, weight }) => `${addresses[0]}:${port}*${weight}`),
      want,
    );
  });
}
