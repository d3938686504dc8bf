/** Values that were set aside: listed once a place, healed by name, counted each time. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { noopLogger } from "@flotilla/runtime";
import { SetAside } from "./set-aside.ts";

it("values are listed once a place with the last reason, until they are good again or all is read anew", () => {
  const errors: unknown[] = [];
  let nowMs = 5;
  const log = { ...noopLogger, error: (_: string, fields?: unknown) => errors.push(fields) };
  const setAside = new SetAside({ log, nowMs: () => nowMs++ });
  let [changes, notes] = [0, 0];
  setAside.onChange(() => changes++);
  setAside.onNote(() => notes++);
  assert.equal(setAside.summary(), undefined);
  setAside.clear();
  assert.equal(changes, 0, "nothing to clear");

  setAside.note("a", new Error("no JSON"));
  setAside.note("a", "no object");
  setAside.note("b", "x");
  assert.deepEqual(setAside.list(), [
    { place: "a", reason: "no object", sinceMs: 5, count: 2 },
    { place: "b", reason: "x", sinceMs: 6, count: 1 },
  ]);
  assert.deepEqual([changes, notes, errors.length], [2, 3, 2]);
  assert.equal(setAside.summary(), "2 ignored: a (no object), b (x)");

  setAside.heal("c");
  setAside.heal("a");
  assert.deepEqual([changes, setAside.summary()], [3, "1 ignored: b (x)"]);
  for (const place of ["c", "d", "e"]) setAside.note(place, "y");
  assert.equal(setAside.summary(), "4 ignored: b (x), c (y), d (y), and 1 more in the log");
  setAside.clear();
  assert.deepEqual([setAside.list(), changes], [[], 7]);
});

it("a long place is shortened, and healed by its whole name", () => {
  const setAside = new SetAside({ log: noopLogger, nowMs: () => 0 });
  const [place, other] = ["a", "b"].map((end) => `${"x".repeat(5_000)}${end}`);
  setAside.note(place ?? "", "y".repeat(5_000));
  const [{ place: shown = "", reason = "" } = {}] = setAside.list();
  assert.ok(shown.length < 1_000 && place?.startsWith(shown), String(shown.length));
  assert.equal(reason.length, shown.length);
  setAside.heal(other ?? "");
  assert.deepEqual(setAside.list(), [], "both have one name here");
});

it("of many places only the first thousand are kept", () => {
  const setAside = new SetAside({ log: noopLogger, nowMs: () => 0 });
  for (let i = 0; i < 1_001; i++) setAside.note(`place ${i}`, "x");
  setAside.note("place 0", "again");
  assert.equal(setAside.list().length, 1_000);
  assert.equal(setAside.list()[0]?.count, 2);
});
