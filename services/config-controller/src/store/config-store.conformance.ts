/** The contract of every ConfigStore; run against all implementations by their tests. */
import assert from "node:assert/strict";
import { it } from "node:test";
import type { Config, ConfigKey, ConfigStore } from "@flotilla/model";
import { until } from "@flotilla/runtime";

/** A store and the way in which objects get into it. */
export interface StoreUnderTest extends AsyncDisposable {
  readonly store: ConfigStore;
  /** How its source is given exactly these objects; absent: the store itself is written. */
  readonly seed?: (configs: readonly Config[]) => Promise<void>;
  /** False: its source stamps objects with no version, as files have none. */
  readonly hasVersions?: boolean;
  /** False: the status is not the store's to keep, as with a kind that has no status of its own there. */
  readonly hasStatus?: boolean;
}

/** Only namespaces `shop` and `bank` are used. Each call of `open` gives a store that is empty in them. */
export function configStoreConformance(open: () => Promise<StoreUnderTest>): void {
  it("knows its kinds, and no others", async () => {
    await using under = await open();
    const names = under.store.schemas().map(({ name }) => name);
    for (const name of ["VirtualService", "ServiceEntry", "Gateway", "AuthorizationPolicy"])
      assert.ok(names.includes(name));
    assert.equal(new Set(names).size, names.length);
    await assert.rejects(under.store.list("VirtualServce", ""), { code: "STORE_BAD_KEY" });
    await assert.rejects(under.store.get({ kind: "Deploymnt", namespace: "shop", name: "x" }), {
      code: "STORE_BAD_KEY",
    });
  });

  it("gets by key and lists by kind, of one namespace or of all", async () => {
    await using under = await open();
    const { store } = under;
    assert.equal(await store.get(keyOf("Sidecar", "shop", "none")), undefined);
    await fill(under, [
      aSidecar("shop", "b"),
      aSidecar("shop", "a"),
      aSidecar("bank", "c"),
      aServiceEntry("shop", "e", "e.example"),
    ]);
    assert.deepEqual(places(await store.list("Sidecar", "")), ["bank/c", "shop/a", "shop/b"]);
    assert.deepEqual(places(await store.list("Sidecar", "shop")), ["shop/a", "shop/b"]);
    assert.deepEqual(places(await store.list("Sidecar", "nowhere")), []);
    const found = await store.get(keyOf("Sidecar", "shop", "a"));
    assert.deepEqual(found?.spec, sidecarSpec);
    assert.deepEqual(found?.labels, { app: "a" });
  });

  it("knows where each object comes from and when that changed", async () => {
    await using under = await open();
    await fill(under, [aSidecar("shop", "a")]);
    const found = await under.store.get(keyOf("Sidecar", "shop", "a"));
    assert.notEqual(found?.provenance?.source ?? "", "");
    assert.notEqual(found?.provenance?.location ?? "", "");
    const age = Date.now() - (found?.provenance?.eventTimeMs ?? 0);
    assert.ok(age > -5_000 && age < 600_000, `changed ${age} ms ago`);
    if (under.hasVersions === false) return;
    assert.equal(found?.generation, 1);
    assert.notEqual(found.resourceVersion ?? "", "");
  });

  it("selects service entries, gateways of a workload and policies of a namespace", async () => {
    await using under = await open();
    const policy = (namespace: string, name: string) =>
      aConfig("AuthorizationPolicy", namespace, name, { action: "ALLOW" });
    await fill(under, [
      aServiceEntry("shop", "one", "one.example"),
      aServiceEntry("bank", "two", "two.example"),
      aGateway("shop", "edge", { app: "edge" }),
      aGateway("shop", "other", { app: "other" }),
      aGateway("bank", "all", undefined),
      policy("shop", "p"),
      policy("bank", "q"),
    ]);
    const { store } = under;
    assert.deepEqual(places(await store.serviceEntries()).sort(), ["bank/two", "shop/one"]);
    assert.deepEqual(places(await store.gateways({ app: "edge", version: "1" })).sort(), ["bank/all", "shop/edge"]);
    assert.deepEqual(places(await store.gateways({})), ["bank/all"]);
    assert.deepEqual(places(await store.authorizationPolicies("shop")), ["shop/p"]);
  });

  it("either takes writes or says that it is read only and stays as it is", async () => {
    await using under = await open();
    const { store, seed } = under;
    await fill(under, [aSidecar("shop", "a")]);
    if (store.isWritable) {
      assert.equal(seed, undefined, "a store that is written needs no other way in");
      return;
    }
    const before = await store.list("Sidecar", "");
    const known = aSidecar("shop", "a");
    const refused = { name: "StoreError", code: "STORE_READ_ONLY" };
    await assert.rejects(store.create(aSidecar("shop", "new")), refused);
    await assert.rejects(store.update(known), refused);
    await assert.rejects(store.updateStatus(known), refused);
    await assert.rejects(
      store.patch(known.key, (current) => ({ ...current, labels: {} })),
      refused,
    );
    await assert.rejects(store.delete(known.key), refused);
    assert.deepEqual(await store.list("Sidecar", ""), before);
  });

  it("creates once; a refused creation leaves what is there", async () => {
    await using under = await open();
    const { store } = under;
    if (!store.isWritable) return;
    const made = await store.create({ ...aSidecar("shop", "a"), resourceVersion: "12" });
    assert.equal(made.generation, 1);
    assert.ok(made.creationTimeMs > 0);
    assert.deepEqual(settled(await store.get(made.key)), settled(made));
    const again = { ...aSidecar("shop", "a"), labels: { app: "changed" } };
    await assert.rejects(store.create(again), { name: "StoreError", code: "STORE_ALREADY_EXISTS", status: 409 });
    assert.deepEqual((await store.get(made.key))?.labels, { app: "a" });
    await assert.rejects(store.create(aSidecar("", "b")), { code: "STORE_BAD_KEY" });
    await assert.rejects(store.create(aSidecar("shop", "")), { code: "STORE_BAD_KEY" });
  });

  it("updates the version that was read, and no other", async () => {
    await using under = await open();
    const { store } = under;
    if (!store.isWritable) return;
    const first = await store.create(aSidecar("shop", "a"));
    const second = await store.update({ ...first, spec: otherSpec });
    assert.equal(second.generation, 2);
    assert.notEqual(second.resourceVersion, first.resourceVersion);
    assert.equal(second.creationTimeMs, first.creationTimeMs);
    await assert.rejects(store.update({ ...first, labels: { app: "late" } }), {
      name: "StoreError",
      code: "STORE_CONFLICT",
      status: 409,
    });
    assert.deepEqual(settled(await store.get(first.key)), settled(second));
    const labelled = await store.update({ ...second, labels: { app: "new" } });
    assert.equal(labelled.generation, 2, "only the spec counts for the generation");
    const same = await store.update(labelled);
    assert.equal(same.resourceVersion, labelled.resourceVersion, "what changes nothing makes no version");
    const missing = aSidecar("shop", "missing");
    await assert.rejects(store.update(missing), { name: "StoreError", code: "STORE_NOT_FOUND", status: 404 });
    assert.equal(await store.get(missing.key), undefined);
  });

  it("keeps spec and status apart", async () => {
    await using under = await open();
    const { store } = under;
    if (!store.isWritable || under.hasStatus === false) return;
    const made = await store.create(aServiceEntry("shop", "a", "a.example"));
    const status = { observedGeneration: "1" };
    const reported = await store.updateStatus({ ...made, spec: { hosts: ["ignored.example"] }, status });
    assert.deepEqual(reported.status, status);
    assert.deepEqual((reported.spec as { readonly hosts?: unknown }).hosts, ["a.example"]);
    assert.equal(reported.generation, 1);
    await assert.rejects(store.updateStatus({ ...made, status: {} }), { code: "STORE_CONFLICT" });
    const labelled = await store.update({ ...reported, labels: { app: "b" }, status: { observedGeneration: "9" } });
    assert.deepEqual(labelled.status, status, "an update leaves the status");
    await assert.rejects(store.updateStatus(aServiceEntry("shop", "none", "n.example")), { code: "STORE_NOT_FOUND" });
  });

  it("patches the last version, also when several do so at once", async () => {
    await using under = await open();
    const { store } = under;
    if (!store.isWritable) return;
    const { key, resourceVersion } = await store.create(aSidecar("shop", "a"));
    const add = (label: string) =>
      store.patch(key, (current) => ({ ...current, labels: { ...current.labels, [label]: "yes" } }));
    await Promise.all(["x", "y", "z"].map(add));
    assert.deepEqual((await store.get(key))?.labels, { app: "a", x: "yes", y: "yes", z: "yes" });
    const stale = (current: Config) => ({ ...current, labels: {}, resourceVersion: `${resourceVersion}` });
    await assert.rejects(store.patch(key, stale), { code: "STORE_CONFLICT" });
    await assert.rejects(
      store.patch(keyOf("Sidecar", "shop", "none"), (current) => current),
      { code: "STORE_NOT_FOUND" },
    );
    const untouched = await store.get(key);
    const failing = () => {
      throw new RangeError("the edit fails");
    };
    await assert.rejects(store.patch(key, failing), RangeError);
    assert.deepEqual(await store.get(key), untouched);
  });

  it("deletes the version that was named, once", async () => {
    await using under = await open();
    const { store } = under;
    if (!store.isWritable) return;
    const first = await store.create(aSidecar("shop", "a"));
    const second = await store.update({ ...first, labels: {} });
    await assert.rejects(store.delete(first.key, { resourceVersion: `${first.resourceVersion}` }), {
      code: "STORE_CONFLICT",
    });
    assert.ok((await store.get(first.key)) !== undefined);
    await store.delete(first.key, { resourceVersion: `${second.resourceVersion}` });
    assert.equal(await store.get(first.key), undefined);
    await assert.rejects(store.delete(first.key), { name: "StoreError", code: "STORE_NOT_FOUND", status: 404 });
    const reborn = await store.create(aSidecar("shop", "a"));
    assert.equal(reborn.generation, 1);
    assert.notEqual(reborn.resourceVersion, second.resourceVersion);
    await assert.rejects(store.update(second), { code: "STORE_CONFLICT" });
  });
}

const sidecarSpec = { egress: [{ hosts: ["./*"] }] };
const otherSpec = { egress: [{ hosts: ["*/*"] }] };

export function aConfig(kind: string, namespace: string, name: string, spec: unknown): Config {
  return { key: keyOf(kind, namespace, name), labels: { app: name }, annotations: {}, creationTimeMs: 0, spec };
}

export function aSidecar(namespace: string, name: string): Config {
  return aConfig("Sidecar", namespace, name, sidecarSpec);
}

export function aServiceEntry(namespace: string, name: string, host: string): Config {
  const ports = [{ number: 80, name: "http", protocol: "HTTP" }];
  return aConfig("ServiceEntry", namespace, name, {
    hosts: [host],
    ports,
    location: "MESH_EXTERNAL",
    resolution: "DNS",
  });
}

function aGateway(namespace: string, name: string, selector: Readonly<Record<string, string>> | undefined): Config {
  const servers = [{ port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["*"] }];
  return aConfig("Gateway", namespace, name, { ...(selector && { selector }), servers });
}

function keyOf(kind: string, namespace: string, name: string): ConfigKey {
  return { kind, namespace, name };
}

function places(configs: readonly Config[]): string[] {
  return configs.map(({ key }) => `${key.namespace}/${key.name}`);
}

async function fill({ store, seed }: StoreUnderTest, configs: readonly Config[]): Promise<void> {
  if (seed !== undefined) await seed(configs);
  else for (const config of configs) await store.create(config);
  const isThere = async () =>
    (await Promise.all(configs.map(({ key }) => store.get(key)))).every((one) => one !== undefined);
  await until(isThere, { withinMs: 10_000, what: "the objects to be in the store" });
}

/** Without the time: a store that reads from a server has it as the server reports it. */
function settled(config: Config | undefined): unknown {
  const { provenance: _, ...rest } = config ?? {};
  return rest;
}
