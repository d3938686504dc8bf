import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JetStreamManager, NatsConnection } from "nats";
import { deliveries } from "./ordered-consumer.ts";

/** A connection on which requests are sent and nothing comes back, as after a server that was stopped. */
function silentParts(onRequest: () => void) {
  const subscription = { unsubscribe: () => undefined, getReceived: () => 0 };
  const connection = { subscribe: () => subscription, isClosed: () => false, info: undefined, options: {} };
  const add = () => {
    onRequest();
    return new Promise<never>(() => undefined);
  };
  return {
    connection: connection as unknown as NatsConnection,
    manager: { consumers: { add } } as unknown as JetStreamManager,
  };
}

describe("an ordered consumer", () => {
  it("waits for no answer over a connection that is lost", async () => {
    const lost = new AbortController();
    const parts = silentParts(() => setImmediate(() => lost.abort(new Error("the connection is lost"))));
    const options = { ...parts, stream: "fleet", filters: ["a.>"], start: 5 };
    const items: unknown[] = [];
    for await (const item of deliveries(options, lost.signal)) items.push(item);
    assert.deepEqual(items, []);
  });
});
