/** Sealed values open with the same key at the same place only, and codes of one purpose or one list of parts fit no other. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { BusError } from "./errors.ts";
import { createSeal, readSeal } from "./seal.ts";

const seal = createSeal("a secret of the services");
const plain = Buffer.from("a private key");
const isSealed = (error: unknown): boolean => error instanceof BusError && error.code === "BUS_SEALED";

describe("sealed bytes", () => {
  const sealed = seal.seal(plain, "roots/1");
  it("open with the key at their place", () => {
    assert.deepEqual(Buffer.from(seal.open(sealed, "roots/1")), plain);
    assert.deepEqual(Buffer.from(seal.open(seal.seal(plain))), plain);
    assert.equal(Buffer.from(sealed).includes(plain), false);
  });
  it("do not open at another place", () => {
    assert.throws(() => seal.open(sealed, "roots/2"), isSealed);
    assert.throws(() => seal.open(sealed), isSealed);
  });
  it("do not open with another key", () =>
    assert.throws(() => createSeal("another secret").open(sealed, "roots/1"), isSealed));
  for (const [part, at] of [
    ["nonce", 0],
    ["tag", 12],
    ["body", 28],
  ] as const)
    it(`do not open when their ${part} was changed`, () => {
      const changed = Buffer.from(sealed);
      changed[at] = (changed[at] ?? 0) ^ 1;
      assert.throws(() => seal.open(changed, "roots/1"), isSealed);
    });
  it("do not open when cut off", () => {
    for (const length of [0, 11, 12, 27, 28])
      assert.throws(() => seal.open(sealed.slice(0, length), "roots/1"), isSealed);
  });
  it("differ each time", () => assert.notDeepEqual(seal.seal(plain), seal.seal(plain)));
});

describe("a fingerprint", () => {
  it("has 128 bits", () => assert.match(seal.fingerprint(plain), /^[0-9a-f]{32}$/));
  it("is equal for equal contents and one key", () => {
    assert.equal(seal.fingerprint(plain), seal.fingerprint(Buffer.from(plain)));
    assert.notEqual(seal.fingerprint(plain), seal.fingerprint(Buffer.from("another key")));
    assert.notEqual(seal.fingerprint(plain), createSeal("another secret").fingerprint(plain));
  });
});

describe("an authentication code", () => {
  const code = seal.mac("bus message", ["ab", "c"]).toString("hex");
  it("is the same for the same parts, texts or bytes", () => {
    assert.equal(seal.mac("bus message", ["ab", "c"]).toString("hex"), code);
    assert.equal(seal.mac("bus message", [Buffer.from("ab"), "c"]).toString("hex"), code);
    assert.equal(createSeal("a secret of the services").mac("bus message", ["ab", "c"]).toString("hex"), code);
  });
  it("is another for another purpose, key, or split of the same bytes", () => {
    assert.notEqual(seal.mac("shared value", ["ab", "c"]).toString("hex"), code);
    assert.notEqual(createSeal("another").mac("bus message", ["ab", "c"]).toString("hex"), code);
    for (const parts of [["a", "bc"], ["abc"], ["ab"], ["ab\0\0\0\0c"], ["ab", "c", ""], ["c", "ab"]])
      assert.notEqual(seal.mac("bus message", parts).toString("hex"), code);
  });
});

describe("a seal's file", () => {
  it("gives the same seal as its bytes, and none without a file", async () => {
    const directory = mkdtempSync(join(tmpdir(), "flotilla-seal-"));
    try {
      writeFileSync(join(directory, "key"), "a secret of the services");
      const read = await readSeal(join(directory, "key"));
      assert.deepEqual(read && Buffer.from(read.open(seal.seal(plain))), plain);
      assert.equal(await readSeal(undefined), undefined);
      await assert.rejects(readSeal(join(directory, "missing")), /ENOENT/);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });
});
