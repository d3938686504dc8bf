import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { keyAction, movedRow } from "./keyboard.ts";
import { backOff, type EventStream, followUpdates } from "./live-updates.ts";

class FakeStream implements EventStream {
  readonly listeners = new Map<string, () => void>();
  isClosed = false;

  addEventListener(type: string, listener: () => void): void {
    this.listeners.set(type, listener);
  }

  close(): void {
    this.isClosed = true;
  }

  emit(type: string): void {
    this.listeners.get(type)?.();
  }
}

function following() {
  const [streams, changes, waits]: [FakeStream[], (string | undefined)[], { run: () => void; ms: number }[]] = [
    [],
    [],
    [],
  ];
  let ended = 0;
  const updates = followUpdates({
    open: () => {
      const stream = new FakeStream();
      streams.push(stream);
      return stream;
    },
    onChange: (topic) => changes.push(topic),
    onEnd: () => ended++,
    later: (run, ms) => {
      const wait = { run, ms };
      waits.push(wait);
      return () => waits.splice(waits.indexOf(wait), 1);
    },
    random: () => 0.5,
  });
  return { updates, streams, changes, waits, ended: () => ended };
}

describe("the stream of events", () => {
  it("has each event's type as the topic that changed", () => {
    const { streams, changes, updates } = following();
    streams[0]?.emit("open");
    for (const type of ["fleet", "generation", "resync"]) streams[0]?.emit(type);
    assert.deepEqual(changes, ["fleet", "generation", undefined]);
    assert.equal(updates.state.value, "live");
  });

  it("has everything that was read before its beginning count as changed", () => {
    const { streams, changes } = following();
    streams[0]?.emit("open");
    assert.deepEqual(changes, []);
    streams[0]?.emit("hello");
    assert.deepEqual(changes, [undefined]);
  });

  it("is opened again with longer and longer waits", () => {
    const { streams, changes, waits, updates } = following();
    streams[0]?.emit("open");
    streams[0]?.emit("error");
    assert.equal(updates.state.value, "lost");
    assert.equal(streams[0]?.isClosed, true);
    waits[0]?.run();
    streams[1]?.emit("error");
    waits[1]?.run();
    assert.deepEqual(
      waits.map(({ ms }) => ms),
      [500, 1000],
    );
    assert.deepEqual(changes, []);
    streams[2]?.emit("open");
    streams[2]?.emit("error");
    assert.equal(waits[2]?.ms, 500, "a stream that was open begins anew");
  });

  it("does not come back after the session or the page has ended", () => {
    const { streams, waits, ended } = following();
    streams[0]?.emit("session-ended");
    streams[0]?.emit("error");
    assert.deepEqual([ended(), waits.length, streams[0]?.isClosed], [1, 0, true]);
    const other = following();
    other.streams[0]?.emit("error");
    other.updates[Symbol.dispose]();
    assert.equal(other.waits.length, 0);
  });

  it("is never waited for longer than 20 s", () => {
    assert.deepEqual(
      [0, 1, 3].map((failures) => backOff(failures, 0.5)),
      [500, 1000, 4000],
    );
    assert.ok(backOff(1000, 1) <= 20_000);
  });
});

describe("keys", () => {
  const plain = { isModified: false, isTyping: false, isDialogOpen: false };
  const cases = [
    { name: "/ focuses the search", pressed: { ...plain, key: "/" }, action: "search" },
    { name: "/ is typed in a field", pressed: { ...plain, key: "/", isTyping: true }, action: undefined },
    { name: "Escape leaves a field", pressed: { ...plain, key: "Escape", isTyping: true }, action: "leave-field" },
    { name: "Escape goes back elsewhere", pressed: { ...plain, key: "Escape" }, action: "back" },
    { name: "Ctrl+k is the browser's", pressed: { ...plain, key: "k", isModified: true }, action: undefined },
    {
      name: "a dialog has keys of its own",
      pressed: { ...plain, key: "Escape", isDialogOpen: true },
      action: undefined,
    },
    { name: "Enter is the link's", pressed: { ...plain, key: "Enter" }, action: undefined },
  ];
  for (const { name, pressed, action } of cases) it(name, () => assert.equal(keyAction(pressed), action));

  it("move through the rows and stop at the ends", () => {
    assert.equal(movedRow("next-row", -1, 3), 0);
    assert.equal(movedRow("next-row", 2, 3), undefined);
    assert.equal(movedRow("previous-row", -1, 3), 2);
    assert.equal(movedRow("previous-row", 0, 3), undefined);
    assert.equal(movedRow("next-row", -1, 0), undefined);
  });
});
