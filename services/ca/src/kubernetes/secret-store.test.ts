/** Self-signed roots in a Secret: the written Secret, the first of several replicas, and reported failures. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { KubeError } from "@flotilla/kube-api";
import { createMemoryApi } from "@flotilla/kube-api/memory";
import { parseCertificatePem, rootId } from "@flotilla/pki";
import type { RootOptions } from "../roots/self-signed-store.ts";
import { rootInSecret, secretStore } from "./secret-store.ts";

const path = "/api/v1/namespaces/mesh/secrets/istio-ca-secret";
const nowMs = Date.UTC(2026, 0, 1);
const options: RootOptions = { trustDomain: "mesh.test", ttlMs: 3_600_000, keyType: "ecdsa-p256" };
const place = { namespace: "mesh", name: "istio-ca-secret" };

interface Stored {
  readonly type?: string;
  readonly metadata: { readonly labels?: unknown };
  readonly data: Readonly<Record<string, string>>;
}

describe("roots in a Secret", () => {
  it("are made once, as istiod keeps its own, for all replicas", async () => {
    const memory = createMemoryApi();
    const made = await secretStore({ api: memory.api, ...place }).open(options, nowMs);
    const again = await secretStore({ api: memory.api, ...place }).open(options, nowMs);
    assert.equal(again.certificatePem, made.certificatePem);
    assert.deepEqual(
      memory.writes.map(({ verb, path: at }) => [verb, at]),
      [["create", path.slice(0, path.lastIndexOf("/"))]],
    );
    const stored = memory.read<Stored>(path);
    assert.equal(stored?.type, "istio.io/ca-root");
    assert.equal(Buffer.from(stored.data["ca-cert.pem"] ?? "", "base64").toString(), made.certificatePem);
    assert.match(Buffer.from(stored.data["ca-key.pem"] ?? "", "base64").toString(), /PRIVATE KEY/);
  });

  it("are stored in cacerts with the mark of a made root, and are those of the Secret before", async () => {
    const memory = createMemoryApi();
    const before = await secretStore({ api: memory.api, ...place }).open(options, nowMs);
    const marks = { "istio-generated": "" };
    const seed = () => rootInSecret({ api: memory.api, ...place });
    const cacerts = { api: memory.api, namespace: "mesh", name: "cacerts", marks, seed };
    const now = await secretStore(cacerts).open(options, nowMs);
    assert.equal(now.certificatePem, before.certificatePem);
    const stored = memory.read<Stored>("/api/v1/namespaces/mesh/secrets/cacerts");
    assert.deepEqual(Object.keys(stored?.data ?? {}).sort(), ["ca-cert.pem", "ca-key.pem", "istio-generated"]);
    assert.equal(await rootInSecret({ api: memory.api, namespace: "mesh", name: "none" }), undefined);
  });

  it("are those of the replica that was faster", async () => {
    const memory = createMemoryApi();
    const other = createMemoryApi();
    const theirs = await secretStore({ api: other.api, ...place }).open(options, nowMs);
    let isFirst = true;
    memory.refusal = ({ verb }) => {
      if (verb === "create" && isFirst) {
        isFirst = false;
        memory.put(path, other.read(path) ?? {});
      }
      return undefined;
    };
    const found = await secretStore({ api: memory.api, ...place }).open(options, nowMs);
    assert.equal(found.certificatePem, theirs.certificatePem);
  });

  it("are replaced in one write, with what others keep in the Secret", async () => {
    const memory = createMemoryApi();
    const store = secretStore({ api: memory.api, ...place });
    await store.open(options, nowMs);
    const kept = memory.read<Stored>(path);
    memory.put(path, { ...kept, metadata: { ...kept?.metadata, labels: { a: "b" } } });
    const next = await store.makeNext(options, nowMs);
    assert.equal((await store.next(options, nowMs))?.certificatePem, next.certificatePem);
    await store.promote();
    assert.equal((await store.open(options, nowMs)).certificatePem, next.certificatePem);
    assert.equal(await store.next(options, nowMs), undefined);
    assert.deepEqual(memory.read<Stored>(path)?.metadata.labels, { a: "b" });
    const dropped = await store.makeNext(options, nowMs);
    await store.dropNext("another");
    assert.equal((await store.next(options, nowMs))?.certificatePem, dropped.certificatePem);
    await store.dropNext(rootId(parseCertificatePem(dropped.certificatePem)));
    assert.equal(await store.next(options, nowMs), undefined);
  });

  for (const verb of ["get", "create"])
    it(`are a failure with the Secret's name when the API server refuses to ${verb}`, async () => {
      const memory = createMemoryApi();
      memory.refusal = (request) =>
        request.verb === verb ? new KubeError("KUBE_REFUSED", "may not", { status: 403 }) : undefined;
      await assert.rejects(secretStore({ api: memory.api, ...place }).open(options, nowMs), {
        code: "CA_BAD_MATERIAL",
        message: /the Secret mesh\/istio-ca-secret: .*may not/,
      });
    });
});
