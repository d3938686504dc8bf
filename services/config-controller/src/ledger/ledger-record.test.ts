import assert from "node:assert/strict";
import { test } from "node:test";
import { zstdCompressSync } from "node:zlib";
import type { GenerationChange } from "../follow/published-config.ts";
import { decodeRecord, encodeRecord, isWithheld, type LedgerRecord, recordsOf } from "./ledger-record.ts";

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

const cause = { publisher: "p", epoch: "e", revision: 1, eventTimeMs: 2 };

function change(name: string, more: Partial<GenerationChange> & { readonly kind?: string } = {}): GenerationChange {
  const { kind = "Sidecar", ...rest } = more;
  const key = { kind, namespace: "shop", name };
  const config = { key, labels: {}, annotations: {}, creationTimeMs: 0, spec: {} };
  return { key, before: config, after: config, beforeLength: 100, ...rest };
}
const generation = (...changes: readonly GenerationChange[]) => ({ position: 7, cause, changes });

test("a generation has what each object was before, and how it changed", () => {
  const changes = [
    change("new", { before: undefined, beforeLength: 0 }),
    change("same"),
    change("gone", { after: undefined }),
    change("secret", { kind: "Secret" }),
    change("large", { beforeLength: 1_001 }),
    change("largest", { beforeLength: 1_000 }),
  ];
  const [record, ...more] = recordsOf(generation(...changes), "e", 1_000);
  assert.deepEqual(more, []);
  const { changes: kept, ...rest } = record ?? assert.fail("no record");
  assert.deepEqual(rest, { epoch: "e", position: 7, part: 0, parts: 1, cause });
  assert.deepEqual(
    kept.map(({ key, op, before }) => [key.name, op, before === null || isWithheld(before) ? before : "whole"]),
    [
      ["new", "created", null],
      ["same", "changed", "whole"],
      ["gone", "deleted", "whole"],
      ["secret", "changed", { withheld: "Secrets are not kept" }],
      ["large", "changed", { withheld: "Sidecar/shop/large had 1001 bytes, too many to be kept" }],
      ["largest", "changed", "whole"],
    ],
  );
});

const manyOf = (count: number, beforeLength: number) =>
  Array.from({ length: count }, (_, at) => change(`n${at}`, { beforeLength }));
const partitions = [
  { name: "of no change is in none", changes: [], sizes: [] },
  { name: "of 500 small changes is in one", changes: manyOf(500, 10), sizes: [500] },
  { name: "of more is in several", changes: manyOf(501, 10), sizes: [500, 1] },
  { name: "of 256 KiB is in one", changes: manyOf(2, 128 * 1024 - 200), sizes: [2] },
  { name: "of more bytes is in several", changes: manyOf(3, 128 * 1024 - 199), sizes: [1, 1, 1] },
  { name: "of one change that is larger has a part of its own", changes: manyOf(2, 300 * 1024), sizes: [1, 1] },
];
for (const { name, changes, sizes } of partitions)
  test(`a generation ${name}`, () => {
    const records = recordsOf(generation(...changes), "e", 1_000_000);
    assert.deepEqual(
      records.map(({ part, parts, changes: kept }) => [part, parts, kept.length]),
      sizes.map((size, at) => [at, sizes.length, size]),
    );
  });
