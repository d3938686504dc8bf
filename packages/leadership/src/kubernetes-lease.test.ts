/** Against a few lines of API server and a clock; kubernetes-lease.integration.test.ts has a real one. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type KubeApi, KubeError, type Lease } from "@flotilla/kube-api";
import { KubernetesLease } from "./kubernetes-lease.ts";

function world() {
  let stored: Lease | undefined;
  let version = 0;
  let nowMs = 0;
  /** How far the wall clock has gone on more than the other one. */
  let sleptMs = 0;
  const conflict = () => Promise.reject(new KubeError("KUBE_CONFLICT", "changed", { status: 409 }));
  const write = (object: unknown) => {
    const lease = object as Lease;
    stored = structuredClone({ ...lease, metadata: { ...lease.metadata, resourceVersion: String(++version) } });
    return Promise.resolve(stored);
  };
  let reads = 0;
  const api = {
    get: () => {
      reads++;
      return Promise.resolve(structuredClone(stored));
    },
    create: (_: string, object: unknown) => (stored === undefined ? write(object) : conflict()),
    replace: (_: string, object: Lease) =>
      stored !== undefined && object.metadata.resourceVersion === stored?.metadata.resourceVersion
        ? write(object)
        : conflict(),
  } as unknown as KubeApi;
  const candidate = (holder: string, version = "1.0.0", isDefaultRevision = false) =>
    new KubernetesLease({
      ...{ api, namespace: "istio-system", name: "lock", ttlMs: 30_000, nowMs: () => nowMs },
      ...{ wallClockMs: () => nowMs + sleptMs, candidate: { holder, version, isDefaultRevision } },
    });
  return {
    candidate,
    stored: () => stored,
    reads: () => reads,
    remove: () => {
      stored = undefined;
    },
    put: (lease: Lease) => write(lease),
    pass: (ms: number) => {
      nowMs += ms;
    },
    sleep: (ms: number) => {
      sleptMs += ms;
    },
  };
}

test("the first that asks has it until it is silent for its time", async () => {
  const { candidate, pass, stored } = world();
  const [a, b] = [candidate("a"), candidate("b")];
  assert.deepEqual([await a.hold(), await b.hold()], [true, false]);
  for (let i = 0; i < 10; i++) {
    pass(5_000);
    assert.deepEqual([await a.hold(), await b.hold()], [true, false]);
  }
  pass(16_000);
  assert.deepEqual([a.isHeld, await b.hold()], [false, false], "between the two no candidate has it");
  pass(15_000);
  assert.deepEqual([await b.hold(), await a.hold()], [true, false]);
  assert.equal(stored()?.spec?.leaseTransitions, 1);
  assert.match(stored()?.spec?.renewTime ?? "", /\.\d{6}Z$/);
});

test("a machine that slept has lost it, and takes nothing from a holder for the time it slept", async () => {
  const { candidate, sleep } = world();
  const [a, b] = [candidate("a"), candidate("b")];
  assert.deepEqual([await a.hold(), await b.hold(), a.isHeld], [true, false, true]);
  sleep(16_000);
  assert.deepEqual([a.isHeld, await b.hold()], [false, false]);
  assert.equal(await a.hold(), true);
  sleep(-172_800_000);
  assert.deepEqual([a.isHeld, await b.hold()], [true, false], "a clock that was set back changes nothing");
});

test("a released lease is taken at once", async () => {
  const { candidate } = world();
  const [a, b] = [candidate("a"), candidate("b")];
  await a.hold();
  await b.hold();
  await a.release();
  assert.deepEqual([a.isHeld, await b.hold(), b.isHeld], [false, true, true]);
});

test("a newer version gets it from an older one, and never gives it back", async () => {
  const { candidate, pass } = world();
  const [old, newer, same] = [candidate("z", "1.9.0"), candidate("b", "1.10.0"), candidate("a", "1.10.0")];
  assert.equal(await old.hold(), true);
  const held: string[] = [];
  for (let i = 0; i < 8; i++) {
    pass(5_000);
    for (const [name, lease] of Object.entries({ old, newer, same })) if (await lease.hold()) held.push(name);
    assert.ok([old, newer, same].filter(({ isHeld }) => isHeld).length <= 1);
  }
  assert.deepEqual([...new Set(held)], ["old", "same"], "of two alike the one that every observer picks");
  assert.equal(held.at(-1), "same");
});

test("of equal versions the default revision has it", async () => {
  const { candidate, pass } = world();
  const [a, b] = [candidate("a", "1.0.0"), candidate("b", "1.0.0", true)];
  await a.hold();
  for (let i = 0; i < 4; i++) {
    pass(5_000);
    await b.hold();
    await a.hold();
  }
  assert.deepEqual([await b.hold(), await a.hold()], [true, false]);
});

test("a nominee that died does not bar others", async () => {
  const { candidate, pass } = world();
  const [a, b, c] = [candidate("a"), candidate("b", "2.0.0"), candidate("c")];
  await a.hold();
  await b.hold();
  pass(5_000);
  await a.hold();
  await a.release();
  assert.equal(await c.hold(), false);
  pass(31_000);
  assert.equal(await c.hold(), true);
});

test("a holder that is none of ours is waited for", async () => {
  const { candidate, pass, put } = world();
  const spec = { holderIdentity: "istiod-7f", leaseDurationSeconds: 30, renewTime: "2026-01-01T00:00:00.000000Z" };
  await put({ metadata: { name: "lock" }, spec });
  const a = candidate("a", "9.0.0");
  assert.equal(await a.hold(), false);
  pass(29_000);
  assert.equal(await a.hold(), false);
  pass(2_000);
  assert.equal(await a.hold(), true);
});

test("a renewal reads the object only where somebody else wrote into it, or deleted it", async () => {
  const { candidate, stored, put, reads, remove } = world();
  const a = candidate("a");
  assert.deepEqual([await a.hold(), await a.hold(), await a.hold(), reads()], [true, true, true, 1]);
  const { metadata, ...rest } = stored() ?? { metadata: {} };
  await put({ ...rest, metadata: { ...metadata, labels: { team: "mesh" } } });
  assert.deepEqual([await a.hold(), reads(), stored()?.metadata.labels], [true, 2, { team: "mesh" }]);
  remove();
  assert.deepEqual([await a.hold(), reads(), stored()?.spec?.holderIdentity], [true, 3, "a"]);
});
