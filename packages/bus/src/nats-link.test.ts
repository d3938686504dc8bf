/** A connection that is lost and comes back, and a stream that is made anew, as who waits for them sees it. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createLogger, until } from "@flotilla/runtime";
import { Events, type NatsConnection, NatsError } from "nats";
import type { BusState } from "./bus.ts";
import { type MemoryStream, memoryStream } from "./memory-stream.fixture.ts";
import type { MessageSender } from "./message-sender.ts";
import { NatsLink } from "./nats-link.ts";
import { NatsPublishing } from "./nats-publishing.ts";
import { streamName } from "./nats-stream.ts";

const soon = (what: string) => ({ withinMs: 60_000, what });

/** Stores what it can, one message after the other. */
const senderTo = ({ client }: MemoryStream): MessageSender => ({
  send: async (messages, onStored) => {
    const failures: unknown[] = [];
    for (const [index, { subject, payload }] of messages.entries()) {
      const stored = await client.publish(subject, payload).catch((error) => void failures.push(error));
      if (stored) onStored(index, stored.seq);
    }
    if (failures.length > 0) throw failures[0];
  },
});

/** A link to a stream in memory; `event` is what the client library reports. */
function aLink(info: object = { server_id: "one", max_payload: 2_024 }) {
  const stream = memoryStream({ name: streamName, num_replicas: 1, max_msgs_per_subject: 1 });
  const events: { readonly type: string; readonly data: string }[] = [];
  let wake = Promise.withResolvers<void>();
  const closed = { count: 0 };
  const connection = {
    info,
    status: async function* () {
      while (closed.count === 0) {
        yield* events.splice(0);
        await wake.promise;
        wake = Promise.withResolvers();
      }
    },
    close: async () => {
      closed.count++;
      wake.resolve();
    },
  } as unknown as NatsConnection;
  const lines: string[] = [];
  const log = createLogger("bus", "info", { write: (line) => void lines.push(JSON.parse(line).msg) });
  const options = { connection, manager: stream.manager, replicas: 1, log, nowMs: () => 7 };
  const link = new NatsLink(options, { epoch: stream.created, last: 0, lastStoredAtMs: 0 });
  const states: BusState[] = [];
  const end = link.onState((state) => states.push(state));
  const event = (type: string, data = "a:4222") => {
    events.push({ type, data });
    wake.resolve();
  };
  return {
    ...{ stream, link, states, end, event, closed, lines },
    publishing: new NatsPublishing(link, senderTo(stream), log),
  };
}

describe("the link to the stream", () => {
  it("is away from the loss until the stream answers again, and reports each once", async () => {
    const { link, states, event, lines, stream } = aLink();
    const { lost } = link;
    event(Events.Disconnect);
    event(Events.Disconnect);
    await until(() => lost.aborted, soon("the loss"));
    await until(() => states.length > 0, soon("the state"));
    assert.deepEqual(states, [{ connected: false, sinceMs: 7, reason: "a:4222" }]);
    assert.match(String(lost.reason), /the connection to a:4222 is lost/);
    let isBack = false;
    const back = link.whenBack().then(() => {
      isBack = true;
    });
    stream.refusal = () => new NatsError("no leader", "503");
    event(Events.Reconnect);
    await until(() => stream.calls.length > 0, soon("the question"));
    assert.deepEqual([isBack, link.state.connected], [false, false]);
    stream.refusal = () => undefined;
    await back;
    assert.deepEqual(states.slice(1), [{ connected: true }]);
    assert.equal(link.lost.aborted, false);
    assert.deepEqual(
      lines.filter((line) => /^nats (?:dis|re)connected/.test(line)),
      ["nats disconnected", "nats reconnected"],
    );
    await link.close();
  });

  it("reports a stream that was made anew, and what waited on the old one ends", async () => {
    const { link, stream } = aLink();
    const epochs: string[] = [];
    const end = link.onEpoch((epoch) => epochs.push(epoch));
    const { lost } = link;
    await link.look();
    assert.deepEqual([epochs, lost.aborted], [[], false]);
    stream.created = "epoch 2";
    const { epoch } = await link.look();
    assert.deepEqual([epoch, link.epoch, epochs], ["epoch 2", "epoch 2", ["epoch 2"]]);
    assert.match(String(lost.reason), /the stream was lost/);
    assert.equal(link.lost.aborted, false);
    end();
    stream.created = "epoch 3";
    await link.look();
    assert.deepEqual([epochs.length, link.epoch], [1, "epoch 3"]);
    await link.close();
  });

  it("ends with everything that waits for it, once", async () => {
    const { link, event, closed, end, states } = aLink();
    end();
    event(Events.Disconnect);
    await until(() => !link.state.connected, soon("the loss"));
    const waiting = assert.rejects(link.whenBack(), { code: "BUS_CLOSED" });
    await link.close();
    await link.close();
    await waiting;
    await assert.rejects(link.whenBack(), { code: "BUS_CLOSED" });
    assert.deepEqual([closed.count, states, link.lost.aborted], [1, [], true]);
  });

  it("may be waited for no longer than another signal allows", async () => {
    const { link, event } = aLink();
    event(Events.Disconnect);
    await until(() => !link.state.connected, soon("the loss"));
    await assert.rejects(link.whenBack(AbortSignal.abort(new Error("stopped"))), /stopped/);
    await link.close();
  });

  it("sends requests when the stream answers, gives them up with the connection, and waits five seconds for one", async (t) => {
    const { link, event } = aLink();
    let sent = 0;
    const send = () => {
      sent++;
      return new Promise<never>(() => undefined);
    };
    const underWay = link.request(send);
    event(Events.Disconnect);
    await assert.rejects(underWay, { code: "BUS_CONNECT", message: /the connection to a:4222 is lost/ });
    await until(() => !link.state.connected, soon("the loss"));
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const inVain = assert.rejects(link.request(send), { code: "BUS_CONNECT", message: /were away for 5000 ms/ });
    t.mock.timers.tick(5_000);
    await inVain;
    t.mock.timers.reset();
    const waiting = link.request(async () => "answer");
    event(Events.Reconnect);
    assert.equal(await waiting, "answer");
    assert.equal(sent, 1);
    await link.close();
    await assert.rejects(link.request(send), { code: "BUS_CLOSED" });
  });

  it("names its server where there is no cluster", async () => {
    for (const [info, server] of [
      [{ server_id: "one" }, "one"],
      [{ server_id: "one", cluster: "c" }, undefined],
    ] as const) {
      const { link } = aLink(info);
      assert.equal(link.server, server);
      await link.close();
    }
  });
});

const message = (subject: string, bytes = 1) => ({ subject, payload: new Uint8Array(bytes), headers: { a: "b" } });

describe("publishing to the stream", () => {
  it("is in order, a subject's second value after its first", async () => {
    const { publishing, link, stream } = aLink();
    const both = [
      publishing.publish(["a", "b", "a"].map((subject) => message(subject))),
      publishing.publish([message("c")]),
    ];
    assert.deepEqual(await Promise.all(both), [[1, 2, 3], [4]]);
    assert.deepEqual(stream.calls, ["publish a", "publish b", "publish a", "publish c"]);
    assert.deepEqual(await publishing.publish([]), []);
    await link.close();
  });

  it("is tried again when it is interrupted, for what was not stored", async () => {
    const { publishing, link, stream, lines } = aLink();
    let failures = 2;
    stream.refusal = (call) =>
      call === "publish b" && failures-- > 0 ? new NatsError("timeout", "TIMEOUT") : undefined;
    const sequences = await publishing.publish([message("a"), message("b"), message("c")]);
    assert.deepEqual(sequences, [1, 3, 2]);
    assert.deepEqual(stream.calls.filter((call) => call.startsWith("publish")).length, 5);
    assert.deepEqual(
      lines.filter((line) => line.includes("interrupted")),
      ["publishing is interrupted, trying again"],
    );
    await link.close();
  });

  it("waits for a connection that is away", async () => {
    const { publishing, link, event } = aLink();
    event(Events.Disconnect);
    await until(() => !link.state.connected, soon("the loss"));
    const publishing1 = publishing.publish([message("a")]);
    event(Events.Reconnect);
    assert.deepEqual(await publishing1, [1]);
    await link.close();
  });

  it("refuses messages that the server would not take, before any is stored", async () => {
    const { publishing, link, stream } = aLink();
    assert.equal(publishing.maxMessageBytes, 1_000);
    await assert.rejects(publishing.publish([message("a"), message("b", 1_001)]), {
      code: "BUS_PUBLISH",
      message: /b has \d+ bytes, the server takes 1000/,
    });
    assert.deepEqual(stream.calls, []);
    await link.close();
  });

  it("ends with the bus", async () => {
    const { publishing, link, stream } = aLink();
    stream.refusal = () => new NatsError("timeout", "TIMEOUT");
    const ended = assert.rejects(publishing.publish([message("a")]), { code: "BUS_CLOSED" });
    await until(() => stream.calls.length > 0, soon("the attempt"));
    await link.close();
    await ended;
  });
});
