/** Sharing must be noticed by nothing but identity: streams with shared states go exactly where they would go alone. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { typeUrl as types } from "@flotilla/proto";
import { seededRandom } from "@flotilla/proto/testing";
import { Bodies } from "./message-body.ts";
import type { Form } from "./plan.ts";
import type { ClientRequest } from "./request.ts";
import type { ResourceSet } from "./resource-set.ts";
import { Interner, SharedStates } from "./sharing.ts";
import { newStream, step, type Turn, takeTurn } from "./stream-state.ts";
import type { Effect, StreamEvent, StreamState } from "./stream-types.ts";
import { resourceSet } from "./testing/fixtures.ts";

const { cluster, endpoint, listener, route } = types;
const bodies = new Bodies();
type World = Map<string, ResourceSet>;

/** Functions that compute a stream's states: the plain ones, or ones that share. */
interface RegisteredWorkload {
  step(state: StreamState, event: StreamEvent): readonly [StreamState, readonly Effect[]];
  takeTurn(state: StreamState, options: Parameters<typeof takeTurn>[1]): Turn;
}

class Stream {
  state: StreamState = newStream;
  /** Of the last turn, when it waits for the client. */
  retryAtMs: number | undefined;
  readonly #machine: RegisteredWorkload;
  readonly #form: Form;

  constructor(machine: RegisteredWorkload, form: Form = "delta") {
    this.#machine = machine;
    this.#form = form;
  }

  meet(event: StreamEvent): readonly Effect[] {
    const [state, effects] = this.#machine.step(this.state, event);
    this.state = state;
    return effects;
  }

  ask(typeUrl: string, names: readonly string[], nonce = "", error?: ClientRequest["error"]): readonly Effect[] {
    const common = { typeUrl, nonce, error };
    const delta = { ...common, subscribe: names, unsubscribe: [], held: new Map() };
    return this.meet({
      type: "request",
      request: this.#form === "delta" ? delta : { ...common, names, version: nonce === "" ? "" : "v" },
    });
  }

  /** Sends one message if there is one; returns its type. */
  write(world: World, nonce: string, nowMs = 0): string | undefined {
    const { state, message, retryAtMs } = this.#machine.takeTurn(this.state, {
      ...{ form: this.#form, bodies, nowMs, orderWaitMs: 100 },
      setOf: (typeUrl) => world.get(typeUrl),
    });
    this.state = state;
    this.retryAtMs = retryAtMs;
    if (message === undefined) return undefined;
    const { typeUrl, set, body, again } = message;
    this.meet({ type: "sent", typeUrl, set, body, nonce, again });
    return typeUrl;
  }
}

/** A state without the identity of its parts. */
function contents({ types: known, awaitedEndpoints, waitingSinceMs }: StreamState): unknown {
  const ofTypes = [...known].map(
    ([
      typeUrl,
      {
        subscription: { wildcard, names },
        sent,
        outstanding,
        ...rest
      },
    ]) => {
      const nonces = outstanding.map(({ nonce }) => nonce);
      return { typeUrl, wildcard, names: names.key, sent: sent?.version, nonces, ...rest };
    },
  );
  return { ofTypes, awaitedEndpoints, waitingSinceMs };
}

function worldOf(clusterText: string, routeText: string): World {
  const sets = [
    resourceSet(cluster, { a: clusterText }),
    resourceSet(endpoint, { a: "1" }),
    resourceSet(listener, { l: "1" }),
    resourceSet(route, { r: routeText }),
  ];
  return new Map(sets.map((set) => [set.typeUrl, set]));
}

/** The names of a thousand certificates, and one more. */
const manyNames = (last: string) => [
  ...Array.from({ length: 1_000 }, (_, index) => `kubernetes://cert-${index}`),
  last,
];

describe("streams with thousands of names", () => {
  it("go where they would go alone, though steps with so many names are forgotten between", () => {
    const states = new SharedStates();
    const [shared, alone] = [new Stream(states, "sotw"), new Stream({ step, takeTurn }, "sotw")];
    const names = manyNames("last");
    for (let count = 1; count <= names.length; count += 7) {
      const asked = names.slice(0, count);
      assert.deepEqual(shared.ask(types.secret, asked), alone.ask(types.secret, asked));
    }
    assert.deepEqual(contents(shared.state), contents(alone.state));
  });

  it("share equal sets of them and no others", () => {
    const interner = new Interner<object>((text) => text.slice(-100));
    const made = { of: manyNames("a").join("\n") };
    assert.equal(
      interner.intern(manyNames("a").join("\n"), () => made),
      made,
    );
    assert.equal(
      interner.intern(manyNames("a").join("\n"), () => ({})),
      made,
    );
    assert.notEqual(
      interner.intern(manyNames("b").join("\n"), () => ({})),
      made,
    );
  });
});

describe("shared states", () => {
  const connected = (states: SharedStates, world: World, nonce: string): Stream => {
    const stream = new Stream(states);
    for (const [typeUrl, names] of [[cluster, []] as const, [route, ["r"]] as const]) {
      stream.ask(typeUrl, names);
      stream.write(world, `${typeUrl} ${nonce}`);
      stream.ask(typeUrl, [], `${typeUrl} ${nonce}`);
    }
    return stream;
  };

  it("are one object for streams that meet the same", () => {
    const [states, world] = [new SharedStates(), worldOf("1", "1")];
    const [one, other] = [connected(states, world, "x"), connected(states, world, "x")];
    assert.equal(one.state, other.state);
    for (const stream of [one, other]) stream.meet({ type: "stale", typeUrl: route });
    const changed = worldOf("1", "2");
    for (const stream of [one, other]) assert.equal(stream.write(changed, "y"), route);
    assert.equal(one.state, other.state);
    one.ask(route, [], "y");
    assert.notEqual(one.state, other.state, "one has answered");
    other.ask(route, [], "y");
    assert.equal(one.state, other.state);
  });

  it("become one again for streams that came to the same by different ways", () => {
    const states = new SharedStates();
    const early = connected(states, worldOf("1", "1"), "x");
    states.sweep();
    const late = connected(states, worldOf("1", "2"), "y");
    assert.notEqual(early.state, late.state);
    const world = worldOf("2", "3");
    for (const typeUrl of [cluster, route]) {
      for (const stream of [early, late]) {
        stream.meet({ type: "stale", typeUrl });
        assert.equal(stream.write(world, `${typeUrl} z`), typeUrl);
        stream.ask(typeUrl, [], `${typeUrl} z`);
      }
    }
    assert.equal(early.state, late.state);
  });

  it("wait for each client from when its own wait began", () => {
    const [states, before, world] = [new SharedStates(), worldOf("1", "1"), worldOf("2", "2")];
    const [one, other] = [connected(states, before, "x"), connected(states, before, "x")];
    for (const stream of [one, other]) {
      for (const typeUrl of [cluster, route]) stream.meet({ type: "stale", typeUrl });
      assert.equal(stream.write(world, "y"), cluster);
    }
    assert.equal(one.state, other.state);
    for (const [stream, nowMs] of [[one, 0] as const, [other, 50] as const]) {
      assert.equal(stream.write(world, "z", nowMs), undefined, "its clusters are not accepted yet");
      assert.equal(stream.retryAtMs, nowMs + 100);
    }
  });

  for (const form of ["delta", "sotw"] as const) {
    it(`lead where each stream would go alone, ${form}`, () => {
      for (let seed = 1; seed <= 300; seed++) lead(form, seed);
    });
  }
});

/** Six streams meet the same kinds of events, at their own pace, with shared states and without. */
function lead(form: Form, seed: number): void {
  const random = seededRandom(seed);
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  const states = new SharedStates();
  const pairs = Array.from(
    { length: 6 },
    () => [new Stream(states, form), new Stream({ step, takeTurn }, form)] as const,
  );
  let world = worldOf("1", "1");
  const both = <T>([shared, alone]: (typeof pairs)[number], act: (stream: Stream) => T): void => {
    assert.deepEqual(act(shared), act(alone), `seed ${seed}`);
    assert.deepEqual(contents(shared.state), contents(alone.state), `seed ${seed}`);
  };
  for (let turn = 0; turn < 40; turn++) {
    const typeUrl = pick([cluster, endpoint, listener, route]);
    const nonce = `${Math.floor(turn / 4)}`;
    const act = pick(["ask", "change", "write", "write", "accept", "accept", "refuse", "sweep"] as const);
    if (act === "change") world = worldOf(pick(["1", "2"]), pick(["1", "2", "3"]));
    if (act === "sweep") states.sweep();
    const names = typeUrl === endpoint ? ["a"] : typeUrl === route ? [pick(["r", "missing"])] : [];
    for (const pair of pairs) {
      if (random() < 0.2) continue;
      const last = pair[1].state.types.get(typeUrl)?.nonce ?? "";
      if (act === "ask") both(pair, (stream) => stream.ask(typeUrl, names));
      if (act === "change") both(pair, (stream) => stream.meet({ type: "stale", typeUrl }));
      if (act === "write") both(pair, (stream) => stream.write(world, nonce, turn * 10));
      if (act === "accept") both(pair, (stream) => stream.ask(typeUrl, names, last));
      if (act === "refuse") both(pair, (stream) => stream.ask(typeUrl, names, last, { code: 13, message: "no a" }));
    }
  }
}
