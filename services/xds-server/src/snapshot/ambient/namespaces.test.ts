/** Inputs of ambient answers from namespaces and the mesh, and the services that ztunnels see. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@flotilla/proto";
import { aConfig, aService, put } from "../../testing/mesh.ts";
import { snapshotOf } from "../../testing/snapshot.ts";
import { query } from "../view.ts";
import { meshNetwork, namespaceTraits, sameJson, trustDomainForZtunnel } from "./namespaces.ts";
import { visibilityOf } from "./visibility.ts";

const mesh = (spec: JsonObject) =>
  aConfig("MeshConfig", "istio-system", "istio", { rootNamespace: "istio-system", ...spec });
const namespace = (name: string, labels: Readonly<Record<string, string>>) => ({
  ...aConfig("Namespace", "", name, {}),
  labels,
  annotations: { a: "b" },
});

describe("a namespace", () => {
  const traits = query("traits-of-test", (view) => view.read(namespaceTraits, "shop"));
  it("has its labels and annotations, or none where it is not known", () => {
    const known = snapshotOf({ changes: put(namespace("shop", { team: "a" })) });
    assert.deepEqual(known.read(traits), { labels: { team: "a" }, annotations: { a: "b" } });
    assert.deepEqual(snapshotOf({ changes: put(namespace("bank", {})) }).read(traits), { labels: {}, annotations: {} });
  });
  it("of the control plane names the network", () => {
    const labels = { "topology.istio.io/network": "n1" };
    assert.equal(snapshotOf({ changes: put(mesh({}), namespace("istio-system", labels)) }).read(meshNetwork), "n1");
    assert.equal(snapshotOf({ changes: put(mesh({}), namespace("shop", labels)) }).read(meshNetwork), "");
  });
});

it("the trust domain that ztunnels assume is left out", () => {
  const asked = query("trust-domain-of-test", (view) => trustDomainForZtunnel(view));
  const of = (trustDomain: string) => snapshotOf({ changes: put(mesh({ trustDomain })) }).read(asked);
  assert.deepEqual([of("cluster.local"), of("td.example")], ["", "td.example"]);
});

it("Services of Kubernetes are visible to all, ServiceEntries as the mesh has it for their namespace", () => {
  const visible = (registry: "Kubernetes" | "External", defaultVisibility: string) => {
    const service = { ...aService("web", "shop"), registry };
    const asked = query("visibility-of-test", (view) => visibilityOf(view, service));
    const serviceEntryVisibility = { defaultVisibility };
    return snapshotOf({ changes: put(mesh({ serviceEntryVisibility })) }).read(asked);
  };
  assert.deepEqual([visible("Kubernetes", "NONE"), visible("External", "NONE")], ["public", "hidden"]);
  assert.deepEqual([visible("Kubernetes", "NAMESPACE"), visible("External", "NAMESPACE")], ["public", "namespace"]);
});

it("facts are the same by their content", () => {
  assert.equal(sameJson({ a: [1] }, { a: [1] }), true);
  assert.equal(sameJson({ a: [1] }, { a: [2] }), false);
  assert.equal(sameJson(undefined, undefined), true);
  assert.equal(sameJson(undefined, {}), false);
});
