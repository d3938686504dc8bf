/** Continuation after a reader's position when it reconnects to other servers. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { NatsError } from "nats";
import { type MemoryStream, memoryStream } from "./memory-stream.fixture.ts";
import { ReadWindow } from "./read-window.ts";

/** A reader that has read `read` of the stream, in order. */
function reader(stream: MemoryStream, read: readonly string[], fromStart = true) {
  const window = new ReadWindow(fromStart);
  let position = 0;
  for (const subject of read) {
    position = stream.put(subject);
    window.add({ subject, sequence: position, storedAtMs: 1_000 * position });
  }
  const leadsOn = (filters: readonly string[] = [">"]) =>
    window.leadsOn(stream.manager, { stream: "S", filters, position });
  return { window, leadsOn };
}

describe("a position leads on", () => {
  it("where the newest message that was read is still there", async () => {
    const { leadsOn } = reader(memoryStream(), ["a", "b"]);
    assert.equal(await leadsOn(), true);
  });

  it("where messages that were read have newer values behind the position", async () => {
    const stream = memoryStream();
    const { leadsOn } = reader(stream, ["a", "b", "c"]);
    stream.put("c");
    assert.equal(await leadsOn(), true);
    stream.put("b");
    assert.equal(await leadsOn(), true);
  });

  it("where all that was read from the start has newer values", async () => {
    const stream = memoryStream();
    const { leadsOn } = reader(stream, ["a"]);
    stream.put("a");
    assert.equal(await leadsOn(), true);
  });

  it("not where nothing that was read is left, and more was read before", async () => {
    const stream = memoryStream();
    stream.put("x");
    const { leadsOn } = reader(stream, ["a"], false);
    stream.put("a");
    assert.equal(await leadsOn(), false);
  });

  it("not where another message stands at the place", async () => {
    const other = memoryStream();
    for (const subject of ["a", "c"]) other.put(subject, "", 1);
    const { window } = reader(memoryStream(), ["a", "b"]);
    assert.equal(await window.leadsOn(other.manager, { stream: "S", filters: [">"], position: 2 }), false);
  });

  it("not where a message that was read is gone without a newer value", async () => {
    const stream = memoryStream();
    const { leadsOn } = reader(stream, ["a", "b"]);
    stream.remove(2);
    assert.equal(await leadsOn(), false);
  });

  it("not where something stands between that was not read, unless it is not followed", async () => {
    const stream = memoryStream();
    const { window } = reader(stream, ["a.1"]);
    stream.put("b.1");
    const read = stream.put("a.2");
    stream.put("a.2");
    window.add({ subject: "a.2", sequence: read, storedAtMs: 1_000 * read });
    const leadsOn = (filter: string) =>
      window.leadsOn(stream.manager, { stream: "S", filters: [filter], position: read });
    assert.deepEqual([await leadsOn(">"), await leadsOn("a.>")], [false, true]);
  });

  it("not where the window does not reach back far enough", async () => {
    const stream = memoryStream();
    const many = Array.from({ length: 256 }, (_, i) => `many.${i}`);
    const whole = reader(stream, many);
    for (const subject of many) stream.put(subject);
    assert.equal(await whole.leadsOn(), true);
    const stream2 = memoryStream();
    const more = [...many, "one.more"];
    const { window, leadsOn } = reader(stream2, more);
    for (const subject of more) stream2.put(subject);
    assert.equal(await leadsOn(), false);
    window.clear();
    assert.equal(await window.leadsOn(stream2.manager, { stream: "S", filters: [], position: 257 }), true);
  });

  it("fails where the servers do not answer", async () => {
    const stream = memoryStream();
    const { leadsOn } = reader(stream, ["a"]);
    stream.refusal = () => new NatsError("timeout", "TIMEOUT");
    await assert.rejects(leadsOn(), { code: "TIMEOUT" });
  });
});
