import assert from "node:assert/strict";
import { test } from "node:test";
import { zstdCompressSync } from "node:zlib";
import { decodeRecord, encodeRecord, type LedgerRecord } from "./ledger-record.ts";

function record(words: string): LedgerRecord {
  const key = { kind: "Sidecar", namespace: "shop", name: "a" };
  const before = { key, labels: {}, annotations: {}, creationTimeMs: 0, spec: words };
  const cause = { publisher: "p", epoch: "e", revision: 1, eventTimeMs: 2 };
  return { number: 1, epoch: "e", position: 7, part: 0, parts: 1, cause, changes: [{ key, op: "changed", before }] };
}

test("small records are kept as they are and large ones packed, and both are read back", () => {
  const [small, large] = [record("ä"), record("word ".repeat(10_000))];
  assert.deepEqual(decodeRecord(encodeRecord(small)), small);
  assert.deepEqual(decodeRecord(encodeRecord(large)), large);
  assert.ok(encodeRecord(large).length < 5_000);
});

test("small records that were packed by another version are read, too", () => {
  const small = record("x");
  assert.deepEqual(decodeRecord(zstdCompressSync(JSON.stringify(small))), small);
});
