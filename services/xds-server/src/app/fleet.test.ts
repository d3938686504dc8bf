/** The part of a replica among the others: its record in the store while it serves, which is removed when it stops. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { noopLogger, until } from "@flotilla/runtime";
import { openStore } from "@flotilla/state";
import { ConnectedStreams } from "../serve/connected-streams.ts";
import type { XdsService } from "../settings.ts";
import { aStream, aTypeRecord } from "../testing/stream.ts";
import { joinReplicas } from "./fleet.ts";

it("a replica is recorded until it stops, and has left once its record is removed", async () => {
  await using store = openStore({ url: "embedded:fleet-test", log: noopLogger });
  const stop = new AbortController();
  const background: Promise<unknown>[] = [];
  const service = {
    ...{ settings: { debugUrl: "http://10.0.0.1:8080", handOffPerSecond: 10 }, log: noopLogger, stop: stop.signal },
    inBackground: (work: Promise<unknown>) => void background.push(work),
  };
  const left = joinReplicas(service as unknown as XdsService, {
    ...{ replica: "pod-1", snapshot: { store, reportId: "r1" } as never, connected: new ConnectedStreams() },
    onHandedOff: () => assert.fail("there are no streams"),
  });
  const replicas = async () => [...(await store.replicas()).keys()];
  await until(async () => (await replicas()).includes("r1"), { withinMs: 20_000, what: "the record", everyMs: 5 });
  stop.abort();
  await left;
  assert.deepEqual(await replicas(), []);
  await Promise.all(background);
  assert.ok(background.includes(left));
});

it("a replica with more than its share of the streams asks some of their clients to connect again", async () => {
  await using store = openStore({ url: "embedded:balance-test", log: noopLogger });
  await store.putReplica("r2", { summary: { replica: "pod-2", streams: 0 }, parts: new Map(), isWhole: true }, 60_000);
  const stop = new AbortController();
  const background: Promise<unknown>[] = [];
  const service = {
    ...{ settings: { debugUrl: undefined, handOffPerSecond: 1_000 }, log: noopLogger, stop: stop.signal },
    inBackground: (work: Promise<unknown>) => void background.push(work),
  };
  const connected = new ConnectedStreams();
  const ended: string[] = [];
  for (const id of ["1", "2", "3", "4"])
    connected.add({
      stream: { record: aStream(id, { type: aTypeRecord() }), end: () => void ended.push(id) },
      call: { peerCertificate: undefined, retireConnection: () => connected.remove(id) },
    });
  let handedOff = 0;
  const left = joinReplicas(service as unknown as XdsService, {
    ...{ replica: "pod-1", snapshot: { store, reportId: "r1" } as never, connected, balanceEveryMs: 5 },
    onHandedOff: () => handedOff++,
  });
  await until(() => handedOff > 0, { withinMs: 20_000, what: "a stream to be handed off", everyMs: 1 });
  stop.abort();
  await Promise.all([left, ...background]);
  assert.equal(ended.length, handedOff);
  assert.equal(connected.size, 4 - handedOff);
});
