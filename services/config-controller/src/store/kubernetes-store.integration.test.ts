/** A real API server as a store, held by the suite that all stores are held by. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { isIstioKind } from "@flotilla/kinds";
import { type RunningApiserver, startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import { until } from "@flotilla/runtime";
import { parseAllDocuments } from "yaml";
import { configSchemas } from "./config-schemas.ts";
import { aConfig, aSidecar, configStoreConformance, type StoreUnderTest } from "./config-store.conformance.ts";
import { ConfigTable } from "./config-table.ts";
import { kubernetesStore } from "./kubernetes-store.fixture.ts";
import { layeredStore } from "./layered-store.ts";
import { readOnlyStore } from "./source-store.ts";

const server: RunningApiserver | undefined = await startKubeApiserver(process.env);
after(() => server?.[Symbol.asyncDispose]());
const crds = fileURLToPath(new URL("../../../../packages/kinds/crds/istio.yaml", import.meta.url));
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const kinds = configSchemas.filter((kind) => isIstioKind(kind) || kind.name === "ConfigMap");

function store() {
  assert.ok(server !== undefined);
  return kubernetesStore({ api: server.api, name: "kubernetes", kinds });
}

/** The suite's objects go with the test. */
async function clear(): Promise<void> {
  const all = store();
  for (const kind of ["Sidecar", "ServiceEntry", "Gateway", "AuthorizationPolicy"])
    for (const { key } of await all.list(kind, "")) await all.delete(key);
}

const options = { skip: server === undefined && whyNoApiserver };

describe("a Kubernetes API as a store", options, () => {
  before(async () => {
    assert.ok(server !== undefined);
    for (const document of parseAllDocuments(await readFile(crds, "utf8"))) {
      const definition: unknown = document.toJS();
      if (definition !== null) await server.api.create(definitions, definition);
    }
    for (const name of ["shop", "bank"]) await server.api.create("/api/v1/namespaces", { metadata: { name } });
    const isServed = async () => {
      for (const { name } of kinds) await store().list(name, "");
      return true;
    };
    await until(isServed, { withinMs: 60_000, what: "the CRDs to be served", everyMs: 200 });
  });

  configStoreConformance(async (): Promise<StoreUnderTest> => ({ store: store(), [Symbol.asyncDispose]: clear }));

  it("leaves metadata that configuration knows nothing of, and hides what the server keeps for itself", async () => {
    const made = await store().create(aSidecar("shop", "owned"));
    const path = "/apis/networking.istio.io/v1/namespaces/shop/sidecars/owned";
    const raw = await server?.api.get(path);
    await server?.api.replace(path, { ...raw, metadata: { ...raw?.metadata, finalizers: ["example.org/mine"] } });
    const changed = await store().update({ ...made, resourceVersion: "", labels: { app: "new" } });
    assert.deepEqual(changed.labels, { app: "new" });
    const after = (await server?.api.get(path)) as { readonly metadata: { readonly finalizers?: unknown } } | undefined;
    assert.deepEqual(after?.metadata.finalizers, ["example.org/mine"]);
    assert.equal(JSON.stringify(changed).includes("managedFields"), false);
    await server?.api.replace(path, { ...after, metadata: { ...after?.metadata, finalizers: [] } });
    await clear();
  });

  it("reports what the server refuses, and takes what has its fields at the top", async () => {
    const wrong = aConfig("ServiceEntry", "shop", "wrong", { hosts: 5 });
    await assert.rejects(store().create(wrong), { code: "STORE_INVALID", message: /spec\.hosts/ });
    const { key } = await store().create(aConfig("ConfigMap", "shop", "settings", { data: { a: "b" } }));
    assert.deepEqual((await store().get(key))?.spec, { data: { a: "b" } });
    await store().delete(key);
  });

  it("takes the writes of several stores as one", async () => {
    const table = new ConfigTable();
    table.put({ ...aSidecar("shop", "filed"), provenance: { source: "file:mesh" } });
    const all = layeredStore("all", [readOnlyStore("file:mesh", table), store()]);
    await all.create(aSidecar("shop", "written"));
    assert.deepEqual(
      (await all.list("Sidecar", "")).map(({ key }) => key.name),
      ["filed", "written"],
    );
    const both = { code: "STORE_READ_ONLY", message: /file:mesh, which wins over kubernetes/ };
    await assert.rejects(all.update(aSidecar("shop", "filed")), both);
    await clear();
  });
});
