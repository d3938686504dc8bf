import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { KubernetesGatewaySpec } from "@flotilla/gateway-api";
import type { Config } from "@flotilla/model";
import { gatewayWorkload, hboneGatewaysOf } from "./network-gateway.ts";

type Gateway = Config<KubernetesGatewaySpec>;

const hbone = { name: "tunnel", port: 15010, protocol: "HBONE" };
function aGateway(spec: object = {}, more: Partial<Gateway> = {}): Gateway {
  return {
    key: { kind: "KubernetesGateway", namespace: "edge", name: "east" },
    labels: { "topology.istio.io/network": "remote" },
    ...{ annotations: {}, creationTimeMs: 0 },
    spec: { gatewayClassName: "istio-remote", listeners: [hbone], ...spec } as KubernetesGatewaySpec,
    status: { addresses: [{ type: "IPAddress", value: "192.0.2.1" }] },
    ...more,
  };
}
const address = (value: string, type = "IPAddress") => ({ addresses: [{ type, value }] });

describe("a Gateway is the way into another network", () => {
  test("by the address in its status, with the account of its pods", () => {
    assert.deepEqual(hboneGatewaysOf(aGateway())[0], {
      ...{ network: "remote", namespace: "edge", name: "east", serviceAccount: "east-istio-remote" },
      ...{ destination: { network: "remote", address: "192.0.2.1" }, port: 15010 },
    });
  });

  const cases: readonly { readonly name: string; readonly gateway: Gateway; readonly expected: object | undefined }[] =
    [
      { name: "not without a network", gateway: aGateway({}, { labels: {} }), expected: undefined },
      {
        name: "not for an empty network",
        gateway: aGateway({}, { labels: { "topology.istio.io/network": "" } }),
        expected: undefined,
      },
      {
        name: "not without an HBONE listener",
        gateway: aGateway({ listeners: [{ ...hbone, protocol: "TLS" }] }),
        expected: undefined,
      },
      { name: "not as a waypoint", gateway: aGateway({ gatewayClassName: "istio-waypoint" }), expected: undefined },
      {
        name: "not as a gateway of its own network",
        gateway: aGateway({ gatewayClassName: "istio-east-west" }),
        expected: undefined,
      },
      { name: "not without an address", gateway: aGateway({}, { status: {} }), expected: undefined },
      {
        name: "by an address that it names itself before its status has one",
        gateway: aGateway(address("192.0.2.9"), { status: {} }),
        expected: { destination: { network: "remote", address: "192.0.2.9" } },
      },
      {
        name: "by its status before what it names itself",
        gateway: aGateway(address("192.0.2.9")),
        expected: { destination: { network: "remote", address: "192.0.2.1" } },
      },
      {
        name: "with an account that it names",
        gateway: aGateway({}, { annotations: { "gateway.istio.io/service-account": "own" } }),
        expected: { serviceAccount: "own" },
      },
      {
        name: "at the usual port where it names none",
        gateway: aGateway({ listeners: [{ ...hbone, port: undefined }] }),
        expected: { port: 15008 },
      },
    ];
  for (const { name, gateway, expected } of cases)
    test(name, () => {
      const [found] = hboneGatewaysOf(gateway);
      if (expected === undefined || found === undefined) assert.equal(found, expected);
      else assert.deepEqual({ ...found, ...expected }, found);
    });
});

test("each address of a Gateway is a way into the network", () => {
  const addresses = [
    { type: "Hostname", value: "east.example" },
    { type: "IPAddress", value: "192.0.2.1" },
    { type: "NamedAddress", value: "x" },
  ];
  const found = hboneGatewaysOf(aGateway({}, { status: { addresses } }));
  assert.deepEqual(
    found.map(({ destination }) => destination),
    [
      { namespace: "edge", hostname: "east.example" },
      { network: "remote", address: "192.0.2.1" },
    ],
  );
});

describe("a way into another network is a workload", () => {
  const gateway = { network: "remote", namespace: "edge", name: "east", serviceAccount: "own", port: 15008 };
  test("with its address", () => {
    const found = gatewayWorkload(
      { ...gateway, destination: { network: "remote", address: "192.0.2.1" } },
      "mesh.example",
    );
    const { uid, namespace, network, addresses, hostname, trustDomain, serviceAccount, isHealthy } = found;
    assert.equal(uid, "NetworkGateway/remote/192.0.2.1/15008");
    assert.deepEqual([namespace, network, addresses, hostname], ["edge", "remote", ["192.0.2.1"], ""]);
    assert.deepEqual([trustDomain, serviceAccount, isHealthy], ["mesh.example", "own", true]);
  });
  test("with its host name", () => {
    const destination = { namespace: "edge", hostname: "east.example" };
    const { uid, addresses, hostname } = gatewayWorkload({ ...gateway, destination }, "mesh.example");
    assert.deepEqual([uid, addresses, hostname], ["NetworkGateway/remote/east.example/15008", [], "east.example"]);
  });
});
