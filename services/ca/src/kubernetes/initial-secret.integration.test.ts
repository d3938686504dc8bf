/** The seal key and the passwords of Redis as Secrets of a real kube-apiserver. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { KubeApi, Secret } from "@flotilla/kube-api";
import { type RunningApiserver, startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import { noopLogger } from "@flotilla/runtime";
import { ensureSecret, readSecret, sealKey, storePasswords } from "./initial-secret.ts";

const server: RunningApiserver | undefined = await startKubeApiserver(process.env);
after(() => server?.[Symbol.asyncDispose]());
const secrets = "/api/v1/namespaces/istio-system/secrets";

describe("the seal key", { skip: server === undefined && whyNoApiserver }, () => {
  const conditions: (string | undefined)[] = [];
  const health = { setCondition: (_name: string, detail: string | undefined) => void conditions.push(detail) };
  const stop = new AbortController();
  const ensure = (name: string) => ensureSecret({ ...sealKey, ...common(), name }, stop.signal);
  const common = () => ({ api: api(), namespace: "istio-system", health, log: noopLogger, retryMs: 20 });
  const keyOf = async (name: string) => (await api().get<Secret>(`${secrets}/${name}`))?.data?.["seal.key"];

  function api(): KubeApi {
    assert.ok(server !== undefined);
    return server.api;
  }
  before(() => conditions.splice(0));

  it("is created when its namespace is there, once for several replicas", async () => {
    const replicas = [ensure("flotilla-seal"), ensure("flotilla-seal")];
    await api().create("/api/v1/namespaces", { metadata: { name: "istio-system" } });
    await Promise.all(replicas);
    const key = Buffer.from((await keyOf("flotilla-seal")) ?? "", "base64");
    assert.equal(key.byteLength, 32);
    assert.equal(conditions.at(-1), undefined);
    await ensure("flotilla-seal");
    assert.equal(await keyOf("flotilla-seal"), key.toString("base64"), "a restart keeps it");
    const read = await readSecret({ ...sealKey, ...common(), name: "flotilla-seal", field: "seal.key" }, stop.signal);
    assert.deepEqual(Buffer.from(read ?? []), key);
  });

  it("of one's own is left as it is", async () => {
    const data = { "seal.key": Buffer.from("a key of one's own").toString("base64") };
    await api().create(secrets, { metadata: { name: "own" }, data });
    await ensure("own");
    assert.equal(await keyOf("own"), data["seal.key"]);
  });

  it("passwords are different for each user, and stay", async () => {
    const read = async () => (await api().get<Secret>(`${secrets}/flotilla-redis`))?.data ?? {};
    await ensureSecret({ ...storePasswords, ...common(), name: "flotilla-redis" }, stop.signal);
    const passwords = await read();
    assert.deepEqual(Object.keys(passwords).sort(), ["replica", "sentinel", "xds-server"]);
    assert.equal(new Set(Object.values(passwords)).size, 3);
    for (const password of Object.values(passwords))
      assert.match(Buffer.from(password, "base64").toString(), /^[0-9a-f]{64}$/);
    await ensureSecret({ ...storePasswords, ...common(), name: "flotilla-redis" }, stop.signal);
    assert.deepEqual(await read(), passwords);
  });
});
