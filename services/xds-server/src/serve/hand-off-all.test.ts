import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type EndableStream, handOffAll, handOffSpanMs, longestDrainMs } from "./hand-off-all.ts";

const limits = { handOffMs: 5_000, drainMs: 2_000 };

/** Ended streams leave the set, as those of a port do. */
function streamsOf(count: number) {
  const streams = new Set<EndableStream>();
  const ended: { readonly index: number; readonly message: string }[] = [];
  const add = () => {
    const index = streams.size;
    const stream: EndableStream = {
      end: ({ message }) => {
        streams.delete(stream);
        ended.push({ index, message });
      },
    };
    streams.add(stream);
  };
  for (let i = 0; i < count; i++) add();
  return { streams, ended, add };
}

describe("the streams of a server that stops", () => {
  const cases = [
    { name: "one stream ends at once", count: 1, spanMs: 5 },
    { name: "200 end within a second", count: 200, spanMs: 1_000 },
    { name: "ten thousand end within the time that there is", count: 10_000, spanMs: 5_000 },
  ];
  for (const { name, count, spanMs } of cases)
    it(`are spread: ${name}`, () => assert.equal(handOffSpanMs(count, limits), spanMs));

  it("end one by one, at moments that chance gives", async () => {
    const { streams, ended } = streamsOf(20);
    let next = 20;
    // The last stream has the earliest moment.
    await handOffAll(streams, { ...limits, random: () => --next / 20 });
    assert.equal(streams.size, 0);
    const order = ended.map(({ index }) => index);
    // Neighbours may change places on a busy machine.
    assert.ok(
      order.slice(0, 5).every((index) => index >= 10) && order.slice(-5).every((index) => index < 10),
      `${order}`,
    );
    assert.equal(ended[0]?.message, "this server shuts down: connect to another one");
  });

  it("are ended once, also when some left or joined meanwhile", async () => {
    const { streams, ended, add } = streamsOf(5);
    const done = handOffAll(streams, { ...limits, random: () => 0.9 });
    const [left] = streams;
    if (left !== undefined) streams.delete(left);
    add();
    await done;
    assert.deepEqual([streams.size, ended.length], [0, 5]);
  });

  it("leave their connections the time after them", () => {
    assert.equal(longestDrainMs(limits), 7_000);
  });
});
