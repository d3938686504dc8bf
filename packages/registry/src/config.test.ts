/** Objects of the Kubernetes API as configuration, and the settings of the mesh. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { applyMeshConfig, defaultMeshConfig, type JsonObject } from "@flotilla/model";
import { configKind, configOf, meshConfigOf, meshNetworksOf, withoutNullFields } from "./config.ts";

const istio = "networking.istio.io/v1";
const metadata = { name: "a", namespace: "n" };
const plain = { labels: {}, annotations: {}, creationTimeMs: 0 };

describe("an object as configuration", () => {
  it("has its metadata, its spec, its status and where it comes from", () => {
    const given = {
      ...{ apiVersion: istio, kind: "Gateway", spec: { servers: [] }, status: { conditions: [] } },
      metadata: {
        ...{ ...metadata, labels: { l: "1" }, annotations: { a: "2" }, resourceVersion: "7", generation: 3 },
        creationTimestamp: "1970-01-01T00:00:01Z",
      },
    };
    const provenance = { source: "a file" } as unknown as NonNullable<Parameters<typeof configOf>[1]>;
    assert.deepEqual(configOf(given, provenance), {
      key: { kind: "Gateway", ...metadata },
      ...{ labels: { l: "1" }, annotations: { a: "2" }, creationTimeMs: 1_000, resourceVersion: "7", generation: 3 },
      ...{ spec: { servers: [] }, status: { conditions: [] }, provenance },
    });
  });

  it("has no field for what it does not have", () =>
    assert.deepEqual(configOf({ apiVersion: istio, kind: "Gateway", metadata }), {
      ...{ key: { kind: "Gateway", ...metadata }, ...plain, spec: {} },
    }));

  it("has the fields of a Secret and a ConfigMap as its spec; plain texts of a Secret are encoded", () => {
    const of = (kind: string, fields: object) => configOf({ apiVersion: "v1", kind, metadata, ...fields })?.spec;
    assert.deepEqual(of("Secret", { type: "t", data: { a: "YQ==", b: "Yg==" }, stringData: { b: "ü" } }), {
      ...{ type: "t", data: { a: "YQ==", b: "w7w=" } },
    });
    assert.deepEqual(of("Secret", {}), { data: {} });
    assert.deepEqual(of("ConfigMap", { data: { a: "1" }, binaryData: { b: "Yg==" } }), {
      ...{ data: { a: "1" }, binaryData: { b: "Yg==" } },
    });
    assert.deepEqual(of("ConfigMap", {}), { data: {} });
  });

  it("has no nulls, but for kinds in which a null is a value", () => {
    const spec = { a: null, b: { c: null, d: [1] } };
    for (const kind of ["DestinationRule", "Gateway"])
      assert.deepEqual(withoutNullFields(kind, { kind, spec }), { kind, spec: { b: { d: [1] } } });
    for (const kind of ["EnvoyFilter", "WasmPlugin"])
      assert.deepEqual(withoutNullFields(kind, { kind, spec }), { kind, spec });
    const object = { kind: "ConfigMap", data: {} };
    assert.equal(withoutNullFields("ConfigMap", object), object);
  });

  const kinds: readonly (readonly [apiVersion: string, kind: string, name: string | undefined])[] = [
    [istio, "Gateway", "Gateway"],
    ["security.istio.io/v1", "AuthorizationPolicy", "AuthorizationPolicy"],
    ["gateway.networking.k8s.io/v1", "Gateway", "KubernetesGateway"],
    ["gateway.networking.k8s.io/v1", "HTTPRoute", "HTTPRoute"],
    ["networking.k8s.io/v1", "Ingress", "Ingress"],
    ["v1", "Namespace", "Namespace"],
    ["v1", "ServiceAccount", "ServiceAccount"],
    ["v1", "Service", undefined],
    ["v1", "Pod", undefined],
    ["apps/v1", "Deployment", undefined],
    ["example.com/v1", "Gateway", undefined],
  ];
  for (const [apiVersion, kind, name] of kinds)
    it(`is ${name ?? "none"} for a ${kind} of ${apiVersion}`, () => {
      assert.equal(configKind(apiVersion, kind), name);
      assert.equal(configOf({ apiVersion, kind, metadata })?.key.kind, name);
    });
});

describe("the settings of the mesh", () => {
  it("are the documents over the defaults, the last one strongest", () => {
    const documents = [{ rootNamespace: "a", enableTracing: true }, undefined, { rootNamespace: "b" }] as const;
    assert.deepEqual(meshConfigOf(...documents), {
      ...{ key: { kind: "MeshConfig", namespace: "", name: "mesh" }, ...plain },
      spec: { ...applyMeshConfig(defaultMeshConfig, {}), rootNamespace: "b", enableTracing: true },
    });
    assert.deepEqual(meshConfigOf().spec, applyMeshConfig(defaultMeshConfig, {}));
  });

  it("have the networks of the last document that has any", () => {
    const of = (...documents: readonly (JsonObject | undefined)[]) => meshNetworksOf(...documents).spec;
    assert.deepEqual(of({ networks: { a: {} } }, { networks: { b: {} } }, {}, undefined), { networks: { b: {} } });
    assert.deepEqual(of({ networks: { a: {} } }, { networks: {} }), { networks: {} });
    assert.deepEqual(of({ networks: { a: { endpoints: [{ fromCidr: null }] } } }), {
      networks: { a: { endpoints: [{}] } },
    });
    assert.deepEqual(of(), { networks: {} });
    assert.deepEqual(meshNetworksOf().key, { kind: "MeshNetworks", namespace: "", name: "mesh" });
  });
});
