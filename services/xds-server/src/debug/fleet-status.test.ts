/** The proxies of the fleet: own streams as they are, others as their replicas reported them to the store. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { typeUrl } from "@flotilla/proto";
import { noopLogger, until } from "@flotilla/runtime";
import { openStore, type ReplicaReport, StateError } from "@flotilla/state";
import type { StreamRecord } from "../serve/stream-record.ts";
import { aSidecar } from "../testing/mesh.ts";
import { aReceipt, aStream, aTypeRecord } from "../testing/stream.ts";
import { createFleetStatus, type ReplicaSummary, readSummaries } from "./fleet-status.ts";
import { ReplicaParts } from "./replica-parts.ts";
import { publishReplica } from "./replica-record.ts";

const types = { [typeUrl.cluster]: aTypeRecord({ sent: aReceipt("n1", 5) }) };
const of = (id: string, namespace: string, connectedAtMs: number): StreamRecord =>
  aStream(id, types, { proxy: aSidecar(namespace), connectedAtMs });
const partsOf = (...streams: readonly StreamRecord[]) => new ReplicaParts().of(streams);

function storeWith(replicas: Readonly<Record<string, { summary: unknown; streams: readonly StreamRecord[] }>>) {
  const entries = Object.entries(replicas);
  return {
    state: { connected: true } as const,
    replicas: async () => new Map(entries.map(([id, { summary }]) => [id, summary])),
    replicaParts: async () => new Map(entries.map(([id, { streams }]) => [id, partsOf(...streams)])),
  };
}

interface Recorded extends ReplicaReport {
  readonly summary: ReplicaSummary;
}

const summary = (replica: string) => ({ replica, streams: 1 });

describe("the status of the fleet", () => {
  const store = storeWith({
    a: { summary: summary("pod-a"), streams: [of("a1", "shop", 10), of("a2", "bank", 30)] },
    b: { summary: summary("pod-b"), streams: [of("b1", "shop", 20)] },
  });
  const shown = async (streams: readonly StreamRecord[]) =>
    (await createFleetStatus(() => streams, store).all()).map(({ proxy, connectionId }) => `${proxy} ${connectionId}`);

  it("has a proxy that moved once, by its latest connection", async () => {
    assert.deepEqual((await shown([])).sort(), ["app.bank a2", "app.shop b1"]);
  });
  it("a connection of this replica counts before those that others reported", async () => {
    assert.deepEqual((await shown([of("own", "shop", 1)])).sort(), ["app.bank a2", "app.shop own"]);
  });
  it("streams that ask debug questions only are no proxies", async () => {
    assert.deepEqual((await shown([aStream("asker")])).length, 2);
  });
  it("does not read this replica's own report back", async () => {
    const asked: (string | undefined)[] = [];
    const replicaParts = async (except?: string) => {
      asked.push(except);
      return new Map();
    };
    const reports = { ...store, replicaParts };
    await createFleetStatus(() => [], reports, "own-report").all();
    assert.deepEqual(asked, ["own-report"]);
  });
  it("without the store has the own proxies", async () => {
    const away = { ...store, state: { connected: false, sinceMs: 0, reason: "away" } as const };
    const fleet = createFleetStatus(() => [of("own", "shop", 1)], away);
    assert.deepEqual(
      (await fleet.all()).map(({ connectionId }) => connectionId),
      ["own"],
    );
    assert.equal(await fleet.elsewhere("app.bank"), undefined);
  });
  it("finds the replica that a proxy connected to last", async () => {
    const fleet = createFleetStatus(() => [], store);
    assert.deepEqual(await fleet.elsewhere("app.shop"), summary("pod-b"));
    assert.deepEqual(await fleet.elsewhere("app.bank"), summary("pod-a"));
    assert.equal(await fleet.elsewhere("app.none"), undefined);
  });
  it("sets aside records that are no summaries", async () => {
    const found = await readSummaries({
      replicas: async () =>
        new Map<string, unknown>([
          ["a", summary("a")],
          ["b", { replica: 7, streams: 1 }],
          ["c", "text"],
        ]),
    });
    assert.deepEqual([...found.keys()], ["a"]);
  });
});

describe("the record of a replica", () => {
  /** A store that notes what is written, with answers given one after the other; then it stores everything. */
  function recording(answers: readonly (number | Error)[] = []) {
    const [reports, removed]: [Recorded[], string[]] = [[], []];
    return {
      reports,
      removed,
      state: { connected: true } as const,
      putReplica: async (_id: string, report: ReplicaReport) => {
        const noted = report as Recorded;
        const answer = answers[reports.push(noted) - 1] ?? noted.summary.streams + 1;
        if (typeof answer !== "number") throw answer;
        return answer;
      },
      removeReplica: async (id: string) => void removed.push(id),
    };
  }
  const soon = (what: string) => ({ withinMs: 30_000, what, everyMs: 1 });
  const options = { id: "1", replica: "pod-a", log: noopLogger, everyMs: 1 };

  it("is written whole once, then by its changes, and removed at the end", async () => {
    const store = recording();
    let streams = [of("a1", "shop", 10)];
    const stop = new AbortController();
    const running = publishReplica({ ...options, pages: "http://a", streams: () => streams, store }, stop.signal);
    await until(() => store.reports.length >= 2, soon("two reports"));
    streams = [];
    await until(
      () => store.reports.some(({ summary: { streams: count } }) => count === 0),
      soon("the end of the stream"),
    );
    stop.abort();
    await running;
    const [first, second] = store.reports;
    assert.deepEqual([first?.isWhole, [...(first?.parts.keys() ?? [])]], [true, ["connection a1", "group 1"]]);
    assert.deepEqual(first?.summary, { replica: "pod-a", pages: "http://a", streams: 1 });
    assert.deepEqual([second?.isWhole, second?.parts.size], [false, 0]);
    const last = store.reports.find(({ summary: { streams: count } }) => count === 0);
    assert.deepEqual(
      [...(last?.parts ?? [])],
      [
        ["connection a1", undefined],
        ["group 1", undefined],
      ],
    );
    assert.deepEqual(store.removed, ["1"]);
  });

  for (const [name, answer] of [
    ["parts were lost", 1],
    ["the store refused it", new StateError("STATE_AWAY", "away")],
  ] as const)
    it(`is written whole again when ${name}`, async () => {
      const store = recording([answer]);
      const stop = new AbortController();
      const running = publishReplica({ ...options, streams: () => [of("a1", "shop", 10)], store }, stop.signal);
      await until(() => store.reports.length >= 3, soon("three reports"));
      stop.abort();
      await running;
      assert.deepEqual(
        store.reports.slice(0, 3).map(({ isWhole }) => isWhole),
        [true, true, false],
      );
    });

  it("ends with an error that is none of the store's", async () => {
    const store = recording([new Error("a defect")]);
    await assert.rejects(
      publishReplica({ ...options, streams: () => [], store }, new AbortController().signal),
      /a defect/,
    );
  });

  it("reaches the other replicas over a store", async () => {
    await using store = openStore({ url: "embedded:fleet-status-test", log: noopLogger });
    const stop = new AbortController();
    const running = publishReplica({ ...options, streams: () => [of("a1", "shop", 10)], store }, stop.signal);
    const fleet = createFleetStatus(() => [], store);
    await until(async () => (await fleet.all()).length === 1, soon("the record"));
    stop.abort();
    await running;
    assert.deepEqual(await fleet.all(), []);
  });
});
