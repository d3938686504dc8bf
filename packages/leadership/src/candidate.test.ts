import assert from "node:assert/strict";
import { test } from "node:test";
import { isNewer, isPreferred, wins } from "./candidate.ts";

test("versions in their order", () => {
  const order = [
    ...["0.9", "1.0.0-1", "1.0.0-2.x", "1.0.0-10", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta"],
    ...["1.0.0-rc.2", "1.0.0-rc.10", "1.0.0", "v1.2.0", "1.10.0+build"],
  ];
  const of = (version: string) => ({ version, isDefaultRevision: false });
  for (const [at, older] of order.entries())
    for (const [place, newer] of order.entries())
      for (const is of [isNewer(newer, older), isPreferred(of(newer), of(older))])
        assert.equal(is, place > at, `${newer} over ${older}`);
});

test("of two candidates exactly one wins", () => {
  const all = ["a", "b"].flatMap((holder) =>
    ["1.0.0", "2.0.0"].flatMap((version) => [true, false].map((is) => ({ holder, version, isDefaultRevision: is }))),
  );
  for (const a of all)
    for (const b of all) if (a.holder !== b.holder) assert.notEqual(wins(a, b), wins(b, a), JSON.stringify([a, b]));
});

test("versions that differ in nothing that counts are the same", () => {
  for (const [a, b] of [
    ["1.0", "1.0.0"],
    ["v1.0.0", "1.0.0"],
    ["1.0.0+a", "1.0.0+b"],
    ["1.0.0-rc.1", "1.0.0-rc.1+b"],
  ] as const)
    assert.deepEqual([isNewer(a, b), isNewer(b, a)], [false, false], `${a} and ${b}`);
});
