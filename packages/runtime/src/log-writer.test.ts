import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LogWriter } from "./log-writer.ts";
import { until } from "./wait.ts";

type Done = (error: NodeJS.ErrnoException | null, written: number) => void;

/** An output whose writes end when the test ends them. */
function output() {
  const taken: string[] = [];
  const calls: { readonly text: string; readonly done: Done }[] = [];
  return {
    taken,
    calls,
    write: (bytes: Uint8Array, done: Done) => void calls.push({ text: Buffer.from(bytes).toString(), done }),
    /** Takes `bytes` of the next write, all of it unless given. */
    take: async (bytes?: number) => {
      await until(() => calls.length > 0, { withinMs: 30_000, what: "a write" });
      const { text = "", done } = calls.shift() ?? {};
      taken.push(text.slice(0, bytes));
      done?.(null, bytes ?? text.length);
    },
    fail: async () => {
      await until(() => calls.length > 0, { withinMs: 30_000, what: "a write" });
      calls.shift()?.done(Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" }), 0);
    },
  };
}

describe("log writer", () => {
  it("writes lines in their order, those that waited for a write together", async () => {
    const { write, take, taken } = output();
    const writer = new LogWriter(1, { write });
    for (const line of ["a\n", "b\n", "c\n"]) writer.write(line);
    await take();
    await take();
    assert.deepEqual(taken, ["a\n", "b\nc\n"]);
  });

  it("goes on where a write ended early", async () => {
    const { write, take, taken } = output();
    const writer = new LogWriter(1, { write });
    writer.write("abcdef\n");
    await take(3);
    await take();
    assert.deepEqual(taken, ["abc", "def\n"]);
  });

  it("drops lines that find no room while no reader takes any, and reports the number afterwards", async () => {
    const { write, take, fail, taken } = output();
    const writer = new LogWriter(1, { write, maxBytes: 10, retryMs: 1, nowMs: () => 0 });
    writer.write("first\n");
    await fail();
    for (let i = 0; i < 5; i++) writer.write("later\n");
    assert.equal(writer.dropped, 5);
    await take();
    await take();
    assert.deepEqual(taken, [
      "first\n",
      '{"level":"warn","time":"1970-01-01T00:00:00.000Z","lines":5,"msg":"log lines dropped: the reader of the log is too slow"}\n',
    ]);
  });

  it("writes what waits when the process ends, and gives up where that fails", () => {
    const written: string[] = [];
    const writeSync = (bytes: Uint8Array) => {
      written.push(Buffer.from(bytes.subarray(0, 3)).toString());
      return Math.min(3, bytes.length);
    };
    const writer = new LogWriter(1, { write: () => undefined, writeSync });
    for (const line of ["a\n", "b\n", "c\n"]) writer.write(line);
    writer.flushSync();
    assert.deepEqual(written, ["b\nc", "\n"], "the first is on its way");
    const failing = new LogWriter(1, {
      write: () => undefined,
      writeSync: () => {
        throw new Error("EAGAIN");
      },
    });
    for (const line of ["a\n", "b\n"]) failing.write(line);
    failing.flushSync();
  });
});
