/** The bus and its shared values over a NATS server in memory, and faults that a real server shows seldom. */
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { noopLogger, until } from "@flotilla/runtime";
import { busConformance } from "./bus.conformance.ts";
import { type Bus, type BusItem, connectBus } from "./index.ts";
import { type NatsInMemory, startNatsInMemory } from "./nats-server.fixture.ts";
import { streamName } from "./nats-stream.ts";

const stop = new AbortController();
let server: NatsInMemory;
let resumed = 0;

const connect = (): Promise<Bus> =>
  connectBus({ url: server.url, clientName: "test", log: noopLogger, onResumed: () => resumed++ }, stop.signal);
const bytes = (text: string) => new TextEncoder().encode(text);
const message = (name: string, text = name) => ({ subject: `flotilla.v1.t.${name}`, payload: bytes(text) });
const textOf = (payload: Uint8Array | undefined) => payload && new TextDecoder().decode(payload);
const soon = (what: string) => ({ withinMs: 60_000, what });
const streamNow = () => {
  const stream = server.jetstream.streams.get(streamName);
  assert.ok(stream);
  return stream;
};

after(() => stop.abort());

describe("bus over NATS in memory", () => {
  before(async () => {
    server = await startNatsInMemory();
  });
  after(() => server[Symbol.asyncDispose]());
  busConformance(connect);
});

/** Received events of a follower, as short texts. */
function follow(bus: Bus, afterSequence = 0, more: { readonly epoch?: string; readonly mark?: string } = {}) {
  const items: string[] = [];
  const end = new AbortController();
  const textOfItem = (item: BusItem): string => {
    if (item.kind === "message") return `${item.message.subject.split(".").at(-1)}=${textOf(item.message.payload)}`;
    return item.kind === "reset" ? `reset: ${item.reason}` : `caught up at ${item.sequence}`;
  };
  const done = (async () => {
    const options = { filters: ["flotilla.v1.t.>"], afterSequence, ...more };
    for await (const item of bus.follow(options, end.signal)) items.push(textOfItem(item));
  })();
  return {
    items,
    has: (count: number) => until(() => items.length >= count, soon(`${count} items`)),
    async end() {
      end.abort();
      await done;
    },
  };
}

describe("a bus whose server fails", () => {
  let bus: Bus;
  const start = async (about = {}) => {
    server = await startNatsInMemory(about);
    bus = await connect();
    resumed = 0;
  };
  const end = async () => {
    await bus[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  };
  const restart = async (about: object) => {
    await end();
    await start(about);
  };
  beforeEach(() => start());
  afterEach(end);

  /** The first delivery of the message with this name. */
  const loseOnce = (name: string) => {
    let losses = 0;
    server.losesDelivery = ({ subject }) => subject.endsWith(`.${name}`) && losses++ === 0;
  };

  it("goes on behind a lost delivery without repeating or leaving out", async () => {
    await bus.publish(["a", "b", "c"].map((name) => message(name)));
    loseOnce("b");
    const seen = follow(bus);
    await seen.has(4);
    assert.deepEqual(seen.items, ["a=a", "b=b", "c=c", "caught up at 3"]);
    assert.equal(resumed, 1);
    assert.equal(bus.mark, `3/${streamNow().messages.at(-1)?.atMs}`);
    await seen.end();
  });

  it("reads last values behind a lost delivery, in order", async () => {
    await bus.publish(["a", "b", "c", "a"].map((name) => message(name)));
    loseOnce("c");
    const values = await bus.lastValues("flotilla.v1.t.>");
    assert.deepEqual(
      values.map(({ sequence, payload }) => [sequence, textOf(payload)]),
      [
        [2, "b"],
        [3, "c"],
        [4, "a"],
      ],
    );
  });

  it("goes on where it was when the connection is lost, and reports the loss once", async () => {
    const states: boolean[] = [];
    const endStates = bus.onState(({ connected }) => states.push(connected));
    await bus.publish([message("a")]);
    const seen = follow(bus);
    await seen.has(2);
    server.drop();
    await until(() => bus.state.connected && states.length === 2, soon("the bus to be back"));
    await bus.publish([message("b")]);
    await seen.has(3);
    assert.deepEqual(seen.items, ["a=a", "caught up at 1", "b=b"]);
    assert.deepEqual(states, [false, true]);
    endStates();
    await seen.end();
  });

  const histories: readonly {
    readonly name: string;
    readonly change: () => void;
    readonly follows: readonly (string | RegExp)[];
  }[] = [
    {
      name: "a stream that is gone is made anew, and read from its start",
      change: () => server.jetstream.streams.clear(),
      follows: ["reset: the stream was lost and made anew", "caught up at 0"],
    },
    {
      name: "a server without its last messages",
      change: () => streamNow().rewind(1),
      follows: ["reset: position 2 lies after the stream's end, 1", "a=a", "caught up at 1"],
    },
    {
      name: "a server that lost its last message and took another one",
      change: () => {
        streamNow().rewind(1);
        streamNow().put("flotilla.v1.t.z", Buffer.from("z"), undefined, 1);
      },
      follows: [
        "reset: message 2 is another one than was read: the stream was rewound and written on",
        "a=a",
        "z=z",
        "caught up at 2",
      ],
    },
    {
      name: "a server that went on",
      change: () => streamNow().put("flotilla.v1.t.z", Buffer.from("z")),
      follows: ["z=z"],
    },
  ];
  for (const { name, change, follows } of histories)
    it(`meets ${name}`, async () => {
      await restart({ cluster: "several" });
      const epochs: string[] = [];
      bus.onEpoch((epoch) => epochs.push(epoch));
      await bus.publish([message("a"), message("b")]);
      const seen = follow(bus);
      await seen.has(3);
      const before = bus.epoch;
      change();
      server.drop();
      await seen.has(3 + follows.length);
      assert.deepEqual(seen.items, ["a=a", "b=b", "caught up at 2", ...follows]);
      assert.deepEqual(epochs, bus.epoch === before ? [] : [bus.epoch]);
      await seen.end();
    });

  it("trusts one server that ran all the time, whatever stands at the mark", async () => {
    await bus.publish([message("a"), message("b")]);
    const seen = follow(bus);
    await seen.has(3);
    streamNow().put("flotilla.v1.t.b", Buffer.from("again"));
    server.calls.length = 0;
    server.drop();
    await seen.has(4);
    assert.deepEqual(seen.items.slice(3), ["b=again"]);
    assert.deepEqual(
      server.calls.filter((call) => call.includes("MSG.GET")),
      Array.from({ length: 2 }, () => `$JS.API.STREAM.MSG.GET.${streamName}`),
      "of the horizon alone, by the link and by the reader",
    );
    await seen.end();
  });

  it("begins where the position and mark of another process are, and anew where the mark is another message's", async () => {
    const [first = 0] = await bus.publish([message("a"), message("b")]);
    const atMs = streamNow().messages[0]?.atMs ?? 0;
    const right = follow(bus, first, { epoch: bus.epoch, mark: `${first}/${atMs}` });
    await right.has(2);
    assert.deepEqual(right.items, ["b=b", "caught up at 2"]);
    await right.end();
    const wrong = follow(bus, first, { epoch: bus.epoch, mark: `${first}/${atMs - 1}` });
    await wrong.has(4);
    assert.deepEqual(wrong.items.slice(1), ["a=a", "b=b", "caught up at 2"]);
    await wrong.end();
  });

  it("answers a server that waits for the reader, and is not idle meanwhile", async () => {
    await bus.publish([message("a")]);
    server.heartbeat = "Nats-Consumer-Stalled: $JS.FC.one\r\n";
    const seen = follow(bus);
    await seen.has(2);
    await until(() => server.calls.includes("$JS.FC.one"), soon("the answer to flow control"));
    await bus.publish([message("b")]);
    await seen.has(3);
    assert.deepEqual(seen.items, ["a=a", "caught up at 1", "b=b"]);
    await seen.end();
  });

  it("forgets nothing without a request, and notes the highest that was forgotten before it removes", async () => {
    const [a = 0, b = 0] = await bus.publish([message("a"), message("b")]);
    server.calls.length = 0;
    await bus.forget([]);
    assert.equal(server.calls.length, 0);
    await bus.forget([b]);
    await bus.forget([a]);
    assert.deepEqual(
      server.calls.filter((call) => !call.includes("MSG.GET")),
      Array.from({ length: 2 }, () => ["flotilla.v1.horizon", `$JS.API.STREAM.MSG.DELETE.${streamName}`]).flat(),
    );
    const horizon = streamNow().messages.find(({ subject }) => subject === "flotilla.v1.horizon");
    assert.deepEqual([textOf(horizon?.payload), streamNow().messages.length], ["2", 1]);
  });
});
