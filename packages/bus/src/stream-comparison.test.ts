/** How much of the stream a publisher reads to compare it with what it published, and the differences that it finds by that. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Change } from "@flotilla/model";
import { noopLogger } from "@flotilla/runtime";
import type { Bus, BusState, OutgoingMessage, StoredMessage } from "./bus.ts";
import { connectEmbedded } from "./embedded-bus.ts";
import { createPublisher, filters, type Publisher } from "./index.ts";

const config = (name: string, spec: unknown): Change => {
  const key = { kind: "VirtualService", namespace: "shop", name };
  return { type: "config", op: "put", key, value: { key, labels: {}, annotations: {}, creationTimeMs: 0, spec } };
};
const deleted = (name: string): Change => ({ type: "config", op: "delete", key: config(name, 0).key as never });
const subjectOf = (name: string) => `flotilla.v1.config.VirtualService.shop.${name}`;
const dayMs = 86_400_000;

interface SetUp extends AsyncDisposable {
  readonly bus: Bus;
  readonly clock: { nowMs: number };
  readonly publisher: Publisher;
  readonly create: () => Publisher;
  /** The last values of the configuration, by name. */
  stored(): Promise<ReadonlyMap<string, StoredMessage>>;
  /** Removes the value and leaves no trace of it, as the command line of NATS does. */
  remove(name: string): Promise<void>;
  /** Publishes as somebody else. */
  put(message: OutgoingMessage): Promise<void>;
  reconnect(): void;
  /** Compares. Resolves to the differences, and the subjects that were read. */
  compare(): Promise<readonly [differences: number, read: readonly string[]]>;
}

let buses = 0;

/** A publisher that has published a, b and c, and compared them once. */
async function compared(): Promise<SetUp> {
  const clock = { nowMs: 100 * dayMs };
  const bus = connectEmbedded(`stream-comparison-${buses++}`, () => clock.nowMs);
  const listeners: ((state: BusState) => void)[] = [];
  const read: string[] = [];
  const removed = new Set<number>();
  const isThere = ({ sequence }: StoredMessage) => !removed.has(sequence);
  const lastValues: Bus["lastValues"] = async (filter, options) => {
    const values = (await bus.lastValues(filter, options)).filter(isThere);
    read.push(...values.map(({ subject }) => subject.split(".").at(-1) ?? ""));
    return values;
  };
  const over = {
    lastValues,
    count: async (filter: string) => (await bus.lastValues(filter)).filter(isThere).length,
    onState: (listener: (state: BusState) => void) => listeners.push(listener),
  };
  const watched = Object.assign(Object.create(bus) as Bus, over);
  const options = { publisher: "c", seal: undefined, log: noopLogger, nowMs: () => clock.nowMs };
  const create = () => createPublisher({ bus: watched, ...options });
  const publisher = create();
  await publisher.synchronize(["a", "b", "c"].map((name) => config(name, 1)));
  const stored = async () =>
    new Map(
      (await bus.lastValues(filters.config)).filter(isThere).map((one) => [one.subject.split(".").at(-1) ?? "", one]),
    );
  const compare = async () => {
    read.length = 0;
    const differences = await publisher.attest();
    return [differences, [...read].sort()] as const;
  };
  assert.deepEqual(await compare(), [0, ["a", "b", "c"]], "the first comparison reads everything");
  return {
    ...{ bus, clock, publisher, create, stored, compare },
    remove: async (name) => void removed.add((await stored()).get(name)?.sequence ?? assert.fail()),
    put: async (message) => void (await bus.publish([message])),
    reconnect: () => {
      for (const connected of [false, true]) for (const listener of listeners) listener({ connected } as BusState);
    },
    [Symbol.asyncDispose]: () => bus[Symbol.asyncDispose](),
  };
}

const everything = ["a", "b", "c"];

describe("a publisher's comparison with the stream", () => {
  it("reads nothing when nothing was stored since the last one, and the marker is published all the same", async () => {
    await using one = await compared();
    const before = await one.bus.lastSequence(filters.sync);
    assert.deepEqual(await one.compare(), [0, []]);
    assert.equal(await one.bus.lastSequence(filters.sync), before + 1);
  });

  it("reads what was published since, puts and deletes", async () => {
    await using one = await compared();
    await one.publisher.publish([config("b", 2), config("new", 1), deleted("c")]);
    assert.deepEqual(await one.compare(), [0, ["b", "c", "new"]]);
    await one.publisher.publish([deleted("new"), config("c", 3)]);
    assert.deepEqual(await one.compare(), [0, ["c", "new"]]);
    assert.deepEqual(await one.compare(), [0, []]);
  });

  const dangers: readonly {
    readonly name: string;
    readonly happens: (one: SetUp) => Promise<void>;
    readonly differences: number;
    readonly read: readonly string[];
  }[] = [
    { name: "a value that was removed", happens: (one) => one.remove("b"), differences: 1, read: ["a", "c"] },
    {
      name: "a value that was removed while another one was added",
      happens: async (one) => {
        await one.remove("b");
        await one.put({ subject: subjectOf("strange"), payload: new Uint8Array() });
      },
      differences: 1,
      // First the new one, then everything.
      read: ["a", "c", "strange", "strange"],
    },
    {
      name: "a value in the place of ours",
      happens: (one) => one.put({ subject: subjectOf("b"), payload: new TextEncoder().encode("{}") }),
      differences: 1,
      read: ["b"],
    },
    {
      name: "an older value that was stored again, behind one of ours that is newer",
      happens: async (one) => {
        const old = (await one.stored()).get("b") ?? assert.fail();
        await one.publisher.publish([config("b", 2)]);
        await one.put(old);
        await one.publisher.publish([config("a", 2)]);
      },
      differences: 1,
      read: ["a", "b"],
    },
    {
      name: "a deleted value that was stored again",
      happens: async (one) => {
        const old = (await one.stored()).get("b") ?? assert.fail();
        await one.publisher.publish([deleted("b")]);
        await one.put(old);
      },
      differences: 1,
      read: ["b"],
    },
    {
      name: "a marker that somebody else published in our name, for the history may be another one",
      happens: async (one) => {
        const [marker = assert.fail()] = await one.bus.lastValues(filters.sync);
        await one.put(marker);
      },
      differences: 0,
      read: everything,
    },
  ];
  for (const { name, happens, differences, read } of dangers)
    it(`finds ${name}`, async () => {
      await using one = await compared();
      assert.deepEqual(await one.compare(), [0, []]);
      await happens(one);
      assert.deepEqual(await one.compare(), [differences, read]);
      one.reconnect();
      assert.equal((await one.compare())[0], 0, "everything is as it was published");
    });

  it("reads everything after a new connection", async () => {
    await using one = await compared();
    one.reconnect();
    assert.deepEqual(await one.compare(), [0, everything]);
    assert.deepEqual(await one.compare(), [0, []]);
  });

  it("reads everything every tenth time", async () => {
    await using one = await compared();
    for (let round = 0; round < 2; round++) {
      for (let i = 1; i < 10; i++) assert.deepEqual(await one.compare(), [0, []]);
      assert.deepEqual(await one.compare(), [0, everything]);
    }
  });

  it("reads everything once when others may have published meanwhile", async () => {
    await using one = await compared();
    await one.publisher.retire();
    await one.publisher.synchronize(everything.map((name) => config(name, 1)));
    assert.deepEqual(await one.compare(), [0, everything]);
    assert.deepEqual(await one.compare(), [0, []]);
  });

  it("reads everything after a restart with nothing to publish, and finds no difference", async () => {
    await using one = await compared();
    const restarted = one.create();
    assert.equal(await restarted.synchronize(everything.map((name) => config(name, 1))), 0);
    assert.equal(await restarted.attest(), 0);
  });

  it("counts deletes until they are forgotten, and values of others", async () => {
    await using one = await compared();
    await one.publisher.publish([deleted("c")]);
    await one.put({ subject: subjectOf("strange"), payload: new Uint8Array() });
    assert.deepEqual(await one.compare(), [0, ["c", "strange"]]);
    one.clock.nowMs += 8 * dayMs;
    one.reconnect();
    assert.deepEqual(await one.compare(), [0, ["a", "b", "c", "strange"]]);
    assert.equal((await one.stored()).has("c"), false);
    assert.deepEqual(await one.compare(), [0, []]);
  });
});
