/** Acceptance of the stream's messages: those whose code fits, and of one subject none that is older than one read before. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { noopLogger, until } from "@flotilla/runtime";
import { authenticatedBus } from "./authentication.ts";
import { type Bus, type BusItem, horizonSubject, type OutgoingMessage, type StoredMessage } from "./bus.ts";
import { connectBus } from "./connect.ts";
import { createSeal } from "./seal.ts";

const seal = createSeal("ours");
const [code, stamp] = ["Flotilla-Mac", "Flotilla-Stamp"];
const subject = "flotilla.v1.config.Sidecar.shop.a";
const payload = Buffer.from("one");
let count = 0;

async function setUp(nowMs: () => number = () => 1_000) {
  const stop = new AbortController();
  const url = `embedded:authentication-${++count}`;
  const plain = await connectBus({ url, clientName: "t", log: noopLogger }, stop.signal);
  return {
    ...{ plain, bus: authenticatedBus(plain, seal, nowMs) },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await plain[Symbol.asyncDispose]();
    },
  };
}

/** The messages that are stored now, as a reader from the beginning finds them. */
async function read(bus: Bus): Promise<readonly StoredMessage[]> {
  const stop = new AbortController();
  const found: StoredMessage[] = [];
  for await (const item of bus.follow({ filters: ["flotilla.>"], afterSequence: 0 }, stop.signal)) {
    if (item.kind === "message") found.push(item.message);
    if (item.kind === "caught-up") break;
  }
  stop.abort();
  return found;
}
const lastOf = async (bus: Bus): Promise<StoredMessage> => (await bus.lastValues("flotilla.>")).at(-1) ?? assert.fail();
const again = ({ subject, payload, headers }: StoredMessage): OutgoingMessage => ({ subject, payload, headers });

describe("messages of the stream", () => {
  it("count for everybody who has the key, with the headers that they had", async () => {
    await using it = await setUp();
    await it.bus.publish([{ subject, payload, headers: { "Flotilla-Op": "put" } }]);
    for (const [message] of [await it.bus.lastValues("flotilla.>"), await read(it.bus)]) {
      assert.deepEqual([message?.refused, message?.headers["Flotilla-Op"]], [undefined, "put"]);
      assert.deepEqual(Buffer.from(message?.payload ?? []), payload);
    }
  });

  const changes: readonly (readonly [string, (message: OutgoingMessage) => OutgoingMessage, RegExp])[] = [
    ["another payload", (message) => ({ ...message, payload: Buffer.from("two") }), /not authentic/],
    ["another subject", (message) => ({ ...message, subject: `${subject}b` }), /not authentic/],
    [
      "another header",
      ({ headers, ...message }) => ({ ...message, headers: { ...headers, "Flotilla-Op": "x" } }),
      /not authentic/,
    ],
    [
      "another stamp",
      ({ headers, ...message }) => ({ ...message, headers: { ...headers, [stamp]: "9" } }),
      /not authentic/,
    ],
    [
      "another code",
      ({ headers, ...message }) => ({ ...message, headers: { ...headers, [code]: "x" } }),
      /not authentic/,
    ],
    ["no code", ({ subject, payload }) => ({ subject, payload }), /had no key/],
  ];
  for (const [name, change, reason] of changes)
    it(`do not count with ${name}`, async () => {
      await using it = await setUp();
      await it.bus.publish([{ subject, payload, headers: { "Flotilla-Op": "put" } }]);
      await it.plain.publish([change(again(await lastOf(it.plain)))]);
      assert.match((await lastOf(it.bus)).refused ?? "counts", reason);
      assert.match((await read(it.bus)).at(-1)?.refused ?? "counts", reason);
    });

  it("of another key do not count", async () => {
    await using it = await setUp();
    await authenticatedBus(it.plain, createSeal("theirs"), () => 1).publish([{ subject, payload }]);
    assert.match((await lastOf(it.bus)).refused ?? "counts", /not authentic/);
  });

  it("count with headers of the server beside them", async () => {
    await using it = await setUp();
    await it.bus.publish([{ subject, payload }]);
    const { headers, ...message } = again(await lastOf(it.plain));
    await it.plain.publish([{ ...message, headers: { ...headers, "Nats-Msg-Id": "1" } }]);
    assert.equal((await lastOf(it.bus)).refused, undefined);
  });

  it("of the bus itself have no code", async () => {
    await using it = await setUp();
    await it.plain.publish([{ subject: horizonSubject, payload }]);
    assert.equal((await it.bus.lastValues(horizonSubject))[0]?.refused, undefined);
  });
});

describe("stamps of messages", () => {
  const stampsOf = async (bus: Bus, filter: string): Promise<readonly number[]> =>
    (await bus.lastValues(filter)).map(({ headers }) => Number(headers[stamp]));

  it("grow with each message, also while the clock stands still or is behind what was read", async () => {
    let nowMs = 5;
    await using it = await setUp(() => nowMs);
    await it.bus.publish([
      { subject: "flotilla.v1.a", payload },
      { subject: "flotilla.v1.b", payload },
    ]);
    assert.deepEqual(await stampsOf(it.plain, "flotilla.>"), [5_000, 5_001]);
    nowMs = 1;
    const other = authenticatedBus(it.plain, seal, () => nowMs);
    await other.lastValues("flotilla.>");
    await other.publish([{ subject: "flotilla.v1.c", payload }]);
    assert.deepEqual(await stampsOf(it.plain, "flotilla.v1.c"), [5_002]);
  });

  it("distinguish a message that is stored again from a new one, by subject", async () => {
    await using it = await setUp();
    const follower = new AbortController();
    const found: (string | undefined)[] = [];
    const following = (async () => {
      const options = { filters: ["flotilla.>"], afterSequence: 0 };
      for await (const item of it.bus.follow(options, follower.signal))
        if (item.kind === "message") found.push(item.message.refused);
    })();
    const store = async (bus: Bus, message: OutgoingMessage): Promise<void> => {
      const { length } = found;
      await bus.publish([message]);
      await until(() => found.length > length, { withinMs: 5_000, what: "the message", everyMs: 1 });
    };
    await store(it.bus, { subject, payload });
    const old = again(await lastOf(it.plain));
    await store(it.bus, { subject: `${subject}b`, payload });
    // The same again is not older.
    await store(it.plain, old);
    await store(it.bus, { subject, payload });
    await store(it.plain, old);
    follower.abort();
    await following;
    assert.deepEqual(found.slice(0, 4), [undefined, undefined, undefined, undefined]);
    assert.match(found[4] ?? "counts", /older than what was read before it/);
  });

  it("of a key that was deleted an old one counts no more, until 10,000 others were deleted after it", async () => {
    await using codes = await setUp();
    const message = (name: string, op: "put" | "delete") => ({
      ...{ subject: `${subject}.${name}`, payload, headers: { "Flotilla-Op": op } },
    });
    await codes.bus.publish([message("a", "put")]);
    const put = await lastOf(codes.plain);
    await codes.bus.publish([message("a", "delete")]);
    const gone = await lastOf(codes.plain);
    await codes.bus.publish(Array.from({ length: 10_000 }, (_, index) => message(`other-${index}`, "delete")));
    const others = (await codes.plain.lastValues("flotilla.>")).slice(1);
    async function* follow(): AsyncGenerator<BusItem> {
      yield* [put, gone, put, ...others, put].map((one) => ({ kind: "message", message: one }) as const);
    }
    const reader = authenticatedBus({ follow } as unknown as Bus, seal, () => 1);
    const refused: boolean[] = [];
    for await (const item of reader.follow({ filters: [], afterSequence: 0 }, new AbortController().signal))
      if (item.kind === "message") refused.push(item.message.refused !== undefined);
    assert.deepEqual(refused.slice(0, 3), [false, false, true]);
    assert.equal(refused.at(-1), false);
  });

  it("begin again with the servers' state: what they have then may be older", async () => {
    await using it = await setUp();
    const stored: StoredMessage[] = [];
    for (const _ of ["old", "new"]) {
      await it.bus.publish([{ subject, payload }]);
      stored.push(await lastOf(it.plain));
    }
    const [old = assert.fail(), next = assert.fail()] = stored;
    async function* follow(): AsyncGenerator<BusItem> {
      yield* [next, old].map((message) => ({ kind: "message", message }) as const);
      yield { kind: "reset", reason: "the servers have another state" } as BusItem;
      yield { kind: "message", message: old };
    }
    const reader = authenticatedBus({ follow } as unknown as Bus, seal, () => 1);
    const refused: boolean[] = [];
    for await (const item of reader.follow({ filters: [], afterSequence: 0 }, new AbortController().signal))
      if (item.kind === "message") refused.push(item.message.refused !== undefined);
    assert.deepEqual(refused, [false, true, false]);
  });

  it("that are no numbers count as the oldest", async () => {
    await using it = await setUp(() => Number.NaN);
    await it.bus.publish([{ subject, payload }]);
    assert.equal((await lastOf(it.plain)).headers[stamp], "NaN");
    const reader = authenticatedBus(it.plain, seal, () => 7);
    assert.deepEqual(
      (await read(reader)).map(({ refused }) => refused),
      [undefined],
    );
    await reader.publish([{ subject, payload }]);
    assert.equal((await lastOf(it.plain)).headers[stamp], "7000");
  });
});
