/** Records that are added after their bucket was made anew. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, it } from "node:test";
import { connectBus, type KeyValue } from "@flotilla/bus";
import { noopLogger } from "@flotilla/runtime";
import { encodeRecord } from "./ledger-record.ts";
import { LedgerRing } from "./ledger-ring.ts";

const recordAt = (position: number) => ({
  ...{ epoch: "e", position, part: 0, parts: 1, changes: [] },
  cause: { publisher: "config-controller", epoch: "e", revision: position, eventTimeMs: 0 },
});

const bucket = async (stop: AbortSignal): Promise<KeyValue> => {
  const bus = await connectBus({ url: `embedded:${randomUUID()}`, clientName: "test", log: noopLogger }, stop);
  return bus.keyValue("ledger");
};

/** A ring of one place that has been written twice, so that its revision is higher than that of a new bucket. */
async function ringOfOne(stop: AbortSignal) {
  let values = await bucket(stop);
  const switched: KeyValue = {
    bucket: values.bucket,
    setAside: values.setAside,
    get: (key) => values.get(key),
    put: (key, value) => values.put(key, value),
    update: (key, value, revision) => values.update(key, value, revision),
    delete: (key) => values.delete(key),
    entries: () => values.entries(),
    watch: (until) => values.watch(until),
  };
  const ring = new LedgerRing({ values: switched, size: 1 });
  for (const position of [1, 2]) assert.equal(await ring.append(recordAt(position)), true);
  const replace = async () => {
    values = await bucket(stop);
    return values;
  };
  return { ring, replace };
}

describe("a bucket of the history that was made anew", () => {
  it("is written to after one refused attempt when it is empty", async () => {
    const { ring, replace } = await ringOfOne(AbortSignal.timeout(20_000));
    await replace();
    assert.equal(await ring.append(recordAt(3)), false);
    assert.equal(await ring.append(recordAt(3)), true);
    assert.deepEqual(await ring.compare(), ["record 2"]);
  });

  it("is so too when another replica has written the same record there, which is then not lost", async () => {
    const { ring, replace } = await ringOfOne(AbortSignal.timeout(20_000));
    await (await replace()).put("0", encodeRecord({ ...recordAt(2), number: 2 }));
    assert.equal(await ring.append(recordAt(3)), false);
    assert.equal(await ring.append(recordAt(3)), true);
    assert.deepEqual(await ring.compare(), []);
    assert.deepEqual(
      ring.summaries().map(({ number, position }) => [number, position]),
      [[3, 3]],
    );
  });
});
