/** What every implementation of the bus keeps; run by the tests of both. */
import assert from "node:assert/strict";
import { it } from "node:test";
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

  it("tells a position that the sequence never had", async () => {
    await using bus = await open();
    await bus.publish([put("d.x", "1")]);
    const seen = collect(bus, "flotilla.v1.d.>", 1_000_000);
    await seen.until((items) => items.includes("caught-up"));
    assert.deepEqual(seen.items, ["reset", "x=1", "caught-up"]);
    seen.stop();
  });
}

function collect(bus: Bus, filter: string, afterSequence: number) {
  const items: string[] = [];
  const stop = new AbortController();
  let wake = () => {};
  const done = (async () => {
    for await (const item of bus.follow({ filters: [filter], afterSequence }, stop.signal)) {
      items.push(describe(item));
      wake();
    }
  })();
  return {
    items,
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
