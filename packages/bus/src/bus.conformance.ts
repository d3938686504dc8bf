/** Promises that every implementation of the bus keeps; run by the tests of both. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { until } from "@flotilla/runtime";
import type { Bus, BusItem } from "./bus.ts";

const text = (value: string) => new TextEncoder().encode(value);
const put = (subject: string, value: string) => ({
  subject: `flotilla.v1.${subject}`,
  payload: text(value),
  headers: { From: "test" },
});

/** Each call of `open` connects to the same, initially empty, sequence. */
export function busConformance(open: () => Promise<Bus>): void {
  it("numbers messages and keeps the last value of each subject", async () => {
    await using bus = await open();
    const first = await bus.publish([put("a.x", "1"), put("a.y", "2"), put("a.x", "3")]);
    assert.deepEqual(
      first,
      [...first].sort((a, b) => a - b),
    );
    const values = await bus.lastValues("flotilla.v1.a.>");
    assert.deepEqual(
      values.map(({ subject, sequence, payload, headers }) => [
        subject,
        sequence,
        new TextDecoder().decode(payload),
        headers["From"],
      ]),
      [
        ["flotilla.v1.a.y", first[1], "2", "test"],
        ["flotilla.v1.a.x", first[2], "3", "test"],
      ],
    );
    assert.deepEqual(await bus.lastValues("flotilla.v1.none.>"), []);
  });

  it("counts values, names the last one, and reads those behind a position", async () => {
    await using bus = await open();
    const all = "flotilla.v1.k.>";
    assert.deepEqual([await bus.count(all), await bus.lastSequence(all)], [0, 0]);
    const [first = 0, second = 0, third] = await bus.publish([put("k.x", "1"), put("k.y", "1"), put("k.x", "2")]);
    await bus.publish([put("l.x", "1")]);
    await until(async () => (await bus.count(all)) === 2, { withinMs: 5_000, what: "two values on any server" });
    assert.equal(await bus.lastSequence(all), third);
    assert.equal(await bus.lastSequence("flotilla.v1.k.y"), second);
    const behind = async (afterSequence: number) =>
      (await bus.lastValues(all, { afterSequence })).map(({ sequence }) => sequence);
    assert.deepEqual(await behind(first), [second, third]);
    assert.deepEqual(await behind(second), [third]);
    assert.deepEqual(await behind(third ?? 0), []);
    await bus.forget([second]);
    await until(async () => (await bus.count(all)) === 1, { withinMs: 5_000, what: "one value on any server" });
  });

  it("delivers what is there, says when that is all, and goes on", async () => {
    await using bus = await open();
    await using other = await open();
    await bus.publish([put("b.x", "1"), put("b.y", "1")]);
    const seen = collect(bus, "flotilla.v1.b.>", 0);
    await seen.until((items) => items.at(-1) === "caught-up");
    await other.publish([put("b.x", "2")]);
    await seen.until((items) => items.at(-1) === "x=2");
    assert.deepEqual(seen.items, ["x=1", "y=1", "caught-up", "x=2"]);
    seen.stop();
  });

  it("goes on from a position without repeating or leaving out", async () => {
    await using bus = await open();
    const sequences = await bus.publish([put("c.x", "1"), put("c.y", "1")]);
    const seen = collect(bus, "flotilla.v1.c.>", sequences[0] ?? 0);
    await bus.publish([put("c.z", "1")]);
    await seen.until((items) => items.includes("z=1"));
    assert.deepEqual(
      seen.items.filter((item) => item !== "caught-up"),
      ["y=1", "z=1"],
    );
    seen.stop();
  });

  it("says caught-up at once when nothing is there", async () => {
    await using bus = await open();
    const seen = collect(bus, "flotilla.v1.empty.>", 0);
    await seen.until((items) => items.length > 0);
    assert.deepEqual(seen.items, ["caught-up"]);
    seen.stop();
  });

  it("reports a position that the sequence never had", async () => {
    await using bus = await open();
    await bus.publish([put("d.x", "1")]);
    const seen = collect(bus, "flotilla.v1.d.>", 1_000_000);
    await seen.until((items) => items.includes("caught-up"));
    assert.deepEqual(seen.items, ["reset", "x=1", "caught-up"]);
    seen.stop();
  });

  it("follows several filters in one order", async () => {
    await using bus = await open();
    await bus.publish([put("e.x", "1"), put("f.x", "1"), put("g.x", "1"), put("e.y", "1")]);
    const seen = collect(bus, ["flotilla.v1.e.>", "flotilla.v1.g.>"], 0);
    await seen.until((items) => items.includes("caught-up"));
    assert.deepEqual(seen.subjects, ["flotilla.v1.e.x", "flotilla.v1.g.x", "flotilla.v1.e.y"]);
    seen.stop();
  });

  it("begins again for a position of another epoch", async () => {
    await using bus = await open();
    const [first = 0] = await bus.publish([put("h.x", "1"), put("h.y", "1")]);
    const same = collect(bus, "flotilla.v1.h.>", first, bus.epoch);
    await same.until((items) => items.includes("caught-up"));
    assert.deepEqual(same.items, ["y=1", "caught-up"]);
    same.stop();
    const other = collect(bus, "flotilla.v1.h.>", first, "an epoch long gone");
    await other.until((items) => items.includes("caught-up"));
    assert.deepEqual(other.items, ["reset", "x=1", "y=1", "caught-up"]);
    other.stop();
  });

  it("forgets for good, and notifies those who have not seen what is forgotten", async () => {
    await using bus = await open();
    const [before = 0, gone = 0, after = 0] = await bus.publish([put("i.x", "1"), put("i.gone", "1"), put("i.y", "1")]);
    await bus.forget([gone]);
    await bus.forget([gone]);
    const subjects = async () => (await bus.lastValues("flotilla.v1.i.>")).map(({ subject }) => subject);
    // Of several servers any may answer, one that learns of it a moment later too.
    await until(async () => !(await subjects()).includes("flotilla.v1.i.gone"), { withinMs: 5_000, what: "it to go" });
    assert.deepEqual(await subjects(), ["flotilla.v1.i.x", "flotilla.v1.i.y"]);
    const late = collect(bus, "flotilla.v1.i.>", before);
    await late.until((items) => items.includes("caught-up"));
    assert.deepEqual(late.items, ["reset", "x=1", "y=1", "caught-up"]);
    late.stop();
    const early = collect(bus, "flotilla.v1.i.>", after);
    await early.until((items) => items.includes("caught-up"));
    assert.deepEqual(early.items, ["caught-up"]);
    early.stop();
  });

  it("ends when its reader is asked to stop, and when the bus is closed", async () => {
    await using bus = await open();
    const other = await open();
    const [one, two] = [collect(bus, "flotilla.v1.j.>", 0), collect(other, "flotilla.v1.j.>", 0)];
    await Promise.all([one, two].map((seen) => seen.until((items) => items.includes("caught-up"))));
    one.stop();
    await other[Symbol.asyncDispose]();
    await Promise.all([one.ended, two.ended]);
    await assert.rejects(other.publish([put("j.x", "1")]), { code: "BUS_CLOSED" });
    await other[Symbol.asyncDispose]();
  });

  it("shares values: the holder of the last revision writes, all watchers see it", async () => {
    await using bus = await open();
    await using other = await open();
    const [mine, theirs] = [await bus.keyValue("leases"), await other.keyValue("leases")];
    assert.equal(await mine.get("a/b.c"), undefined);
    const first = await mine.update("a/b.c", text("one"), 0);
    assert.ok(first !== undefined);
    assert.equal(await theirs.update("a/b.c", text("two"), 0), undefined);
    const second = await theirs.update("a/b.c", text("two"), first);
    assert.ok(second !== undefined && second > first);
    assert.equal(await mine.update("a/b.c", text("three"), first), undefined);
    const { value, revision } = (await mine.get("a/b.c")) ?? {};
    assert.deepEqual([new TextDecoder().decode(value), revision], ["two", second]);

    const stop = new AbortController();
    const watched = theirs.watch(stop.signal)[Symbol.asyncIterator]();
    const next = async () => {
      const { value: entry } = await watched.next();
      return `${entry?.key}=${entry?.value === undefined ? "" : new TextDecoder().decode(entry.value)}`;
    };
    assert.equal(await next(), "a/b.c=two");
    await mine.put("d", text("four"));
    assert.equal(await next(), "d=four");
    const all = (await theirs.entries()).map(({ key, value: held }) => `${key}=${new TextDecoder().decode(held)}`);
    assert.deepEqual(all, ["a/b.c=two", "d=four"]);
    await mine.delete("a/b.c");
    assert.equal(await next(), "a/b.c=");
    assert.equal(await mine.get("a/b.c"), undefined);
    assert.deepEqual(
      (await theirs.entries()).map(({ key }) => key),
      ["d"],
    );
    assert.deepEqual(await (await bus.keyValue("empty bucket")).entries(), []);
    assert.ok((await mine.update("a/b.c", text("five"), 0)) !== undefined);
    stop.abort();
    await watched.return?.();
  });

  it("shared values vanish when they are not renewed", async () => {
    await using bus = await open();
    const leases = await bus.keyValue("short leases", { ttlMs: 400 });
    await leases.put("a", text("1"));
    assert.ok((await leases.get("a")) !== undefined);
    await until(async () => (await leases.get("a")) === undefined, { withinMs: 5_000, what: "the value to vanish" });
    assert.ok((await leases.update("a", text("2"), 0)) !== undefined);
  });
}

function collect(bus: Bus, filter: string | readonly string[], afterSequence: number, epoch?: string) {
  const items: string[] = [];
  const subjects: string[] = [];
  const filters = typeof filter === "string" ? [filter] : filter;
  const stop = new AbortController();
  let wake = () => {};
  const done = (async () => {
    for await (const item of bus.follow({ filters, afterSequence, epoch }, stop.signal)) {
      items.push(describe(item));
      if (item.kind === "message") subjects.push(item.message.subject);
      wake();
    }
  })();
  return {
    items,
    subjects,
    ended: done,
    stop: () => stop.abort(),
    until: async (check: (items: readonly string[]) => boolean) => {
      const expired = setTimeout(() => stop.abort(), 8_000);
      while (!check(items)) {
        assert.ok(!stop.signal.aborted, `gave up waiting, saw ${items.join(" ")}`);
        await Promise.race([new Promise<void>((resolve) => (wake = resolve)), done]);
      }
      clearTimeout(expired);
    },
  };
}

function describe(item: BusItem): string {
  if (item.kind !== "message") return item.kind;
  const { subject, payload } = item.message;
  return `${subject.split(".").at(-1)}=${new TextDecoder().decode(payload)}`;
}
