/** Stored states of a rotation that a replica accepts, and those that it replaces. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { connectBus } from "@flotilla/bus";
import { noopLogger } from "@flotilla/runtime";
import { idle, type RotationState } from "./rotation-state.ts";
import { StateStore } from "./state-store.ts";

const directory = mkdtempSync(join(tmpdir(), "flotilla-state-store-"));
after(() => rmSync(directory, { recursive: true, force: true }));

const trusting: RotationState = {
  ...{ phase: "trusting", id: "r1", phaseSinceMs: 1, without: [] },
  roots: { old: "a", next: "b", origin: "self-signed" },
};
const issuing: RotationState = { ...trusting, phase: "issuing", phaseSinceMs: 2 };

async function fixture() {
  const owned = new AsyncDisposableStack();
  const stop = AbortSignal.timeout(30_000);
  const url = `embedded:${randomUUID()}`;
  const bus = owned.use(await connectBus({ url, clientName: "test", log: noopLogger }, stop));
  const values = await bus.keyValue("ca");
  const file = join(directory, randomUUID());
  const store = new StateStore(file, noopLogger);
  const storeAgain = (state: RotationState) => values.put("rotation", new TextEncoder().encode(JSON.stringify(state)));
  const stored = async () => new TextDecoder().decode((await values.get("rotation"))?.value);
  return { values, file, store, storeAgain, stored, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

describe("the state of a rotation in the bucket", () => {
  it("is counted", async () => {
    await using one = await fixture();
    await one.store.read(one.values);
    assert.equal(await one.store.write(one.values, trusting), true);
    assert.equal(await one.store.write(one.values, issuing), true);
    assert.deepEqual(JSON.parse(await one.stored()), { ...issuing, serial: 2 });
  });

  it("is not taken when it is older than what is known, and is replaced", async () => {
    await using one = await fixture();
    await one.store.write(one.values, trusting);
    const older = JSON.parse(await one.stored()) as RotationState;
    await one.store.write(one.values, issuing);
    await one.storeAgain(older);
    assert.equal(await one.store.read(one.values), false);
    assert.equal(one.store.state.phase, "issuing");
    assert.deepEqual(JSON.parse(await one.stored()), { ...issuing, serial: 2 });
  });

  it("is not taken either by a replica that knows the newer one from its disk", async () => {
    await using one = await fixture();
    await one.store.write(one.values, trusting);
    const older = JSON.parse(await one.stored()) as RotationState;
    await one.store.write(one.values, issuing);
    await one.storeAgain(older);
    const restarted = new StateStore(one.file, noopLogger);
    await restarted.restore();
    await restarted.read(one.values);
    assert.equal(restarted.state.phase, "issuing");
    assert.equal((JSON.parse(await one.stored()) as RotationState).serial, 2);
  });

  it("is taken when it is newer, and when a version wrote it that does not count", async () => {
    for (const state of [{ ...trusting, serial: 7 }, trusting]) {
      await using one = await fixture();
      await one.store.write(one.values, idle);
      await one.storeAgain(state);
      assert.equal(await one.store.read(one.values), true);
      assert.deepEqual(one.store.state, state);
    }
  });

  it("is written again when it is gone", async () => {
    await using one = await fixture();
    await one.store.write(one.values, trusting);
    await one.values.delete("rotation");
    assert.equal(await one.store.read(one.values), false);
    assert.deepEqual(JSON.parse(await one.stored()), { ...trusting, serial: 1 });
  });
});
