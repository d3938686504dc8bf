/** The record of a replica in the shared store: whole at first, then its changed parts, and gone at the end. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { typeUrl } from "@flotilla/proto";
import { noopLogger, until } from "@flotilla/runtime";
import { type ReplicaReport, StateError } from "@flotilla/state";
import type { StreamRecord } from "../serve/stream-record.ts";
import { aReceipt, aStream, aTypeRecord } from "../testing/stream.ts";
import { publishReplica } from "./replica-record.ts";

const busy = (id: string) => aStream(id, { [typeUrl.cluster]: aTypeRecord({ sent: aReceipt("1", 5) }) });
const soon = (what: string) => ({ withinMs: 5_000, what });

/** A store that counts parts as Redis does, and can fail or lose what it has. */
class PartStore {
  readonly reports: ReplicaReport[] = [];
  readonly removed: string[] = [];
  parts = new Set<string>();
  error: Error | undefined;
  state = { connected: true };

  async putReplica(_id: string, report: ReplicaReport): Promise<number> {
    if (this.error !== undefined) throw this.error;
    this.reports.push(report);
    if (report.isWhole) this.parts = new Set();
    for (const [name, part] of report.parts) part === undefined ? this.parts.delete(name) : this.parts.add(name);
    return this.parts.size;
  }

  async removeReplica(id: string): Promise<void> {
    this.removed.push(id);
  }
}

/** A replica that reports every 5 ms; `end` stops it and resolves when its record is removed. */
function reporting(t: TestContext, streams: () => readonly StreamRecord[], store = new PartStore()) {
  const stop = new AbortController();
  t.after(() => stop.abort());
  const options = { id: "r1", replica: "pod-1", pages: "http://10.0.0.1:8080", log: noopLogger, everyMs: 5 };
  const running = publishReplica({ ...options, streams, store: store as never }, stop.signal);
  const end = () => {
    stop.abort();
    return running;
  };
  return { store, end, running };
}

const isEmpty = ({ parts }: ReplicaReport) => parts.size === 0;

describe("the record of a replica", () => {
  it("is whole at first, with streams that are not idle, and then without parts while nothing changes", async (t) => {
    const all = [busy("a"), aStream("idle")];
    const { store, end } = reporting(t, () => all);
    await until(() => store.reports.length >= 2, soon("two reports"));
    await end();
    const [first, second] = store.reports;
    assert.deepEqual(first?.summary, { replica: "pod-1", pages: "http://10.0.0.1:8080", streams: 1 });
    assert.equal(first?.isWhole, true);
    assert.deepEqual(
      [...(first?.parts.keys() ?? [])].filter((name) => name.startsWith("connection")),
      ["connection a"],
    );
    assert.deepEqual([second?.isWhole, second && isEmpty(second)], [false, true]);
  });

  it("has changed parts only, removed ones as undefined", async (t) => {
    let all = [busy("a")];
    const { store, end } = reporting(t, () => all);
    await until(() => store.reports.length > 0, soon("the first report"));
    all = [busy("b")];
    await until(() => store.reports.some((one) => one.parts.has("connection b")), soon("the new connection"));
    await end();
    const change = store.reports.find((one) => one.parts.has("connection b"));
    assert.equal(change?.isWhole, false);
    assert.ok(change?.parts.has("connection a"));
    assert.equal(change?.parts.get("connection a"), undefined);
  });

  it("is written whole again after the store lost parts", async (t) => {
    const all = [busy("a")];
    const { store, end } = reporting(t, () => all);
    await until(() => store.reports.some(isEmpty), soon("a report without parts"));
    store.parts = new Set();
    await until(() => store.reports.filter(({ isWhole }) => isWhole).length >= 2, soon("a second whole report"));
    await end();
    assert.ok(store.parts.has("connection a"));
  });

  it("waits for a store that is unreachable, and is not removed from it", async (t) => {
    const { store, end } = reporting(t, () => [busy("a")]);
    store.state = { connected: false };
    const before = store.reports.length;
    await end();
    assert.deepEqual([store.reports.length, store.removed], [before, []]);
  });

  it("is tried again after the store refused it, and removed at the end", async (t) => {
    const store = new PartStore();
    store.error = new StateError("STATE_AWAY", "it is full");
    const { end } = reporting(t, () => [busy("a")], store);
    store.error = undefined;
    await until(() => store.reports.length > 0, soon("the report after the refusal"));
    await end();
    assert.equal(store.reports[0]?.isWhole, true);
    assert.deepEqual(store.removed, ["r1"]);
  });

  it("fails by an error of the code", async (t) => {
    const store = new PartStore();
    store.error = new TypeError("not of the store");
    await assert.rejects(reporting(t, () => [busy("a")], store).running, /not of the store/);
  });
});
