/** Shared values count only with the code of this key for this bucket, key and value; others may be written over by who has the key. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { authenticatedKeyValue } from "./authenticated-key-value.ts";
import { Bucket, openEmbeddedKeyValue } from "./embedded-key-value.ts";
import { createSeal } from "./seal.ts";

const value = Buffer.from("holder-1");

function open(name = "leases", acceptsAny?: () => boolean) {
  const notes: string[] = [];
  const setAside = {
    note: (place: string, error: unknown) => void notes.push(`${place}: ${(error as Error).message}`),
    heal: (place: string) => void notes.push(`${place}: healed`),
  };
  const plain = openEmbeddedKeyValue(new Bucket(), { bucket: name, setAside, nowMs: () => 0 });
  return { plain, notes, values: authenticatedKeyValue(plain, createSeal("ours"), acceptsAny) };
}

/** The code that a writer with a key of its own, another bucket or another key of the bucket left in its entry. */
async function codeFrom(secret: string, bucket: string, key: string, written = value): Promise<string | undefined> {
  const { plain } = open(bucket);
  await authenticatedKeyValue(plain, createSeal(secret)).put(key, written);
  return (await plain.get(key))?.code;
}

describe("a shared value", () => {
  it("is read with the key", async () => {
    const { values, notes } = open();
    const revision = await values.put("a", value);
    assert.deepEqual((await values.get("a"))?.value, value);
    assert.deepEqual(
      (await values.entries()).map(({ key }) => key),
      ["a"],
    );
    assert.equal(await values.get("b"), undefined);
    assert.notEqual(await values.update("a", value, revision), undefined);
    assert.equal(await values.update("a", value, revision), undefined);
    assert.deepEqual(notes, []);
  });

  for (const [name, code, reason] of [
    ["without a code", async () => undefined, /its writer had no key/],
    ["with an empty code", async () => "", /written with another key, or changed/],
    ["with the code of another key", () => codeFrom("theirs", "leases", "a"), /written with another key/],
    ["with the code of another bucket", () => codeFrom("ours", "tokens", "a"), /written with another key/],
    ["with the code of another key of the bucket", () => codeFrom("ours", "leases", "b"), /written with another key/],
    ["with the code of another value", () => codeFrom("ours", "leases", "a", Buffer.from("holder-2")), /or changed/],
  ] as const) {
    it(`${name} is as if it were not there, until one with the key writes over it`, async () => {
      const { plain, values, notes } = open();
      await plain.put("a", value, await code());
      assert.equal(await values.get("a"), undefined);
      assert.deepEqual(await values.entries(), []);
      assert.match(notes[0] ?? "", /^leases\/a: .*a value is not authentic/);
      assert.match(notes[0] ?? "", reason);
      assert.notEqual(await values.update("a", value, 0), undefined);
      assert.deepEqual((await values.get("a"))?.value, value);
      assert.equal(notes.at(-1), "leases/a: healed");
    });
    it(`${name} is read while any is accepted`, async () => {
      const { plain, values } = open("leases", () => true);
      await plain.put("a", value, await code());
      assert.deepEqual((await values.get("a"))?.value, value);
    });
  }

  it("is watched with deletions, which need no code, and without what is not authentic", async () => {
    const { plain, values } = open();
    const stop = new AbortController();
    await plain.put("forged", value);
    await values.put("a", value);
    const seen: string[] = [];
    for await (const { key, value: found } of values.watch(stop.signal)) {
      seen.push(found === undefined ? `${key} deleted` : key);
      if (seen.length === 1) await values.delete("a");
      else stop.abort();
    }
    assert.deepEqual(seen, ["a", "a deleted"]);
  });
});
