/** A mesh of objects, in steps: configuration and what registries make of it. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Change } from "@flotilla/model";
import { createMesh, loadMesh } from "./load-mesh.ts";

const entry = {
  ...{ apiVersion: "networking.istio.io/v1", kind: "ServiceEntry", metadata: { name: "e", namespace: "n" } },
  spec: { hosts: ["e.example"], ports: [{ number: 80, name: "http", protocol: "HTTP" }], resolution: "DNS" },
};
const service = {
  ...{ apiVersion: "v1", kind: "Service", metadata: { name: "s", namespace: "n" } },
  spec: { clusterIP: "10.0.0.1", ports: [{ name: "http", port: 80 }] },
};
const gateway = { apiVersion: "networking.istio.io/v1", kind: "Gateway", metadata: { name: "g" }, spec: {} };
const text = ({ type, op, key }: Change): string =>
  `${op} ${type} ${"kind" in key ? key.kind : JSON.stringify(key).replace(/.*"hostname":"([^"]*)".*/, "$1")}`;
const texts = (changes: readonly Change[]) => changes.map(text).toSorted();

describe("a mesh in steps", () => {
  it("has configuration, and services of what defines them", () => {
    const mesh = createMesh();
    const found = texts(mesh.apply({ put: [entry, service, gateway], mesh: {}, networks: {} }));
    for (const one of [
      "put config Gateway",
      "put config MeshConfig",
      "put config MeshNetworks",
      "put config ServiceEntry",
    ])
      assert.ok(found.includes(one), found.join());
    assert.ok(
      found.includes("put service s.n.svc.cluster.local") && found.includes("put service e.example"),
      found.join(),
    );
    assert.deepEqual(texts(mesh.apply({})), []);
  });

  it("loses the configuration of what is deleted, and its services", () => {
    const mesh = createMesh();
    mesh.apply({ put: [entry, service, gateway], mesh: {} });
    assert.deepEqual(texts(mesh.apply({ delete: [service] })), ["delete service s.n.svc.cluster.local"]);
    const found = texts(mesh.apply({ delete: [entry, gateway] }));
    assert.ok(found.includes("delete config ServiceEntry") && found.includes("delete config Gateway"), found.join());
    assert.ok(found.includes("delete service e.example"), found.join());
  });

  it("has the services of other clusters beside its own", () => {
    const other = { ...service, metadata: { name: "w", namespace: "n" } };
    const found = texts(createMesh().apply({ put: [service], mesh: {}, clusters: { west: [other] } }));
    assert.ok(found.includes("put service w.n.svc.cluster.local"), found.join());
    assert.ok(!found.includes("put config MeshNetworks"), found.join());
  });

  it("is the same at once", () =>
    assert.deepEqual(
      loadMesh([entry, service]),
      createMesh().apply({ put: [entry, service], mesh: {}, networks: {} }),
    ));
});
