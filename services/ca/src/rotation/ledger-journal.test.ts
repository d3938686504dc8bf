import assert from "node:assert/strict";
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { noopLogger } from "@flotilla/runtime";
import { type Holding, Ledger } from "./ledger.ts";
import { LedgerJournal } from "./ledger-journal.ts";

const root = mkdtempSync(join(tmpdir(), "ca-issued-"));
after(() => rmSync(root, { recursive: true, force: true }));

const holdingOf = (name: string, notAfterMs = 1_000): Holding => ({
  ...{ identity: `spiffe://cluster.local/ns/shop/sa/${name}`, place: `instance ${name}`, issuer: "a", roots: ["a"] },
  ...{ issuedMs: 1, notAfterMs },
});

async function open(name: string, nowMs = 10) {
  const [file, ledger] = [join(root, "ca", name), new Ledger()];
  const journal = new LedgerJournal(ledger, { file, nowMs: () => nowMs, log: noopLogger });
  await journal.restore();
  const places = () => [...ledger.holdings(nowMs).map(({ place }) => place)].sort();
  const record = (holding: Holding) => {
    ledger.record(holding);
    journal.record(holding);
  };
  return { file, journal, places, record };
}

describe("the copy of issued certificates", () => {
  it("is read back by the next process, with the moment since when it is complete", async () => {
    const before = await open("back");
    assert.equal(before.journal.recordedSinceMs, undefined);
    before.journal.recordSince(5);
    for (const name of ["web", "api"]) before.record(holdingOf(name));
    await before.journal.flushed();
    const { journal, places } = await open("back");
    assert.deepEqual([places(), journal.recordedSinceMs], [["instance api", "instance web"], 5]);
  });

  it("has a line for each certificate, and no file before the first", async () => {
    const empty = await open("lines");
    await empty.journal.flushed();
    assert.equal(existsSync(empty.file), false);
    for (const name of ["web", "api"]) {
      const { record, journal } = await open("lines");
      record(holdingOf(name));
      await journal.flushed();
    }
    const lines = readFileSync(empty.file, "utf8").split("\n");
    assert.deepEqual(
      [lines.length, lines.at(-1), lines.slice(0, 2).every((line) => line.startsWith("["))],
      [3, "", true],
    );
  });

  it("loses the line that was cut off, and none that is written behind it", async () => {
    const before = await open("torn");
    for (const name of ["web", "api"]) before.record(holdingOf(name));
    await before.journal.flushed();
    const text = readFileSync(before.file, "utf8");
    writeFileSync(before.file, text.slice(0, -20));
    const next = await open("torn");
    next.record(holdingOf("late"));
    await next.journal.flushed();
    appendFileSync(next.file, "no json\n");
    assert.deepEqual((await open("torn")).places(), ["instance late", "instance web"]);
  });

  it("is written anew without those that have ended before it gets long", async () => {
    const { journal, record, file } = await open("long");
    record(holdingOf("web"));
    for (let at = 0; at < 3_000; at++) {
      record(holdingOf("ended", 5));
      if (at % 100 === 0) await journal.flushed();
    }
    journal.recordSince(7);
    await journal.flushed();
    assert.ok(readFileSync(file, "utf8").split("\n").length < 1_500);
    const again = await open("long");
    assert.deepEqual([again.places(), again.journal.recordedSinceMs], [["instance web"], 7]);
  });
});
