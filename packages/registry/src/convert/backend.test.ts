/** Backends that name a host outside, as ServiceEntries. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { backendProtocol, backendServiceEntry } from "./backend.ts";

const spec = { type: "ExternalHostname", port: { port: 443 }, externalHostname: { hostname: "api.example" } };
const key = { kind: "Backend", namespace: "shop", name: "out" };
const entryOf = (given: object) =>
  backendServiceEntry({ key, labels: { a: "b" }, annotations: {}, creationTimeMs: 7, spec: given }, "cluster.local");

const none: readonly { readonly name: string; readonly spec: object }[] = [
  { name: "of another type", spec: { ...spec, type: "ServiceImport" } },
  { name: "without a host", spec: { ...spec, externalHostname: {} } },
  { name: "without a port", spec: { ...spec, port: {} } },
  {
    name: "of a host of the cluster",
    spec: { ...spec, externalHostname: { hostname: "web.shop.svc.cluster.local" } },
  },
  {
    name: "of a host of the set of clusters",
    spec: { ...spec, externalHostname: { hostname: "web.shop.svc.clusterset.local" } },
  },
];

describe("a Backend", () => {
  it("of a host outside is a ServiceEntry that is resolved by DNS", () => {
    assert.deepEqual(entryOf(spec), {
      key: { kind: "ServiceEntry", namespace: "shop", name: "out~backend" },
      labels: {},
      annotations: {},
      creationTimeMs: 7,
      spec: {
        hosts: ["api.example"],
        ports: [{ number: 443, protocol: "HTTP", name: "HTTP" }],
        location: "MESH_EXTERNAL",
        resolution: "DNS",
      },
    });
  });
  it("has the protocol that it names", () =>
    assert.deepEqual(entryOf({ ...spec, protocol: "H2C" })?.spec.ports, [
      { number: 443, protocol: "HTTP2", name: "HTTP2" },
    ]));
  for (const { name, spec: given } of none)
    it(`${name} is no ServiceEntry`, () => assert.equal(entryOf(given), undefined));
  it("of an unknown protocol is opaque", () =>
    assert.deepEqual(["GRPC", "MCP", "SCTP", "constructor"].map(backendProtocol), ["GRPC", "HTTP", "TCP", "TCP"]));
});
