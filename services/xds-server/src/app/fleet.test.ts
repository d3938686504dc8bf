/** The part of a replica among the others: its record in the store while it serves, which is removed when it stops. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { noopLogger, until } from "@flotilla/runtime";
import { openStore } from "@flotilla/state";
import { ConnectedStreams } from "../serve/connected-streams.ts";
import type { XdsService } from "../settings.ts";
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
