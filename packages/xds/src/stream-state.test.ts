/** Every rule of a stream, as a table: requests and pushes in, what the server sends and notes out. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { typeUrl as types } from "@flotilla/proto";
import { Bodies } from "./message-body.ts";
import type { Form } from "./plan.ts";
import type { ClientRequest, DeltaRequest, SotwRequest } from "./request.ts";
import type { ResourceSet } from "./resource-set.ts";
import { newStream, step, takeTurn } from "./stream-state.ts";
import type { Effect, StreamState } from "./stream-types.ts";
import { contentOf, resourceSet, setOf } from "./testing/fixtures.ts";

/** An event, and the messages that it causes: `type: name=content … -removed`. */
type Line = readonly [event: Event, ...out: string[]];
/** `together`: before the server takes its turn. */
type Event = SingleEvent | { readonly together: readonly SingleEvent[] };
type SingleEvent =
  | { readonly sotw: Partial<SotwRequest> & { readonly typeUrl: string } }
  | { readonly delta: Partial<DeltaRequest> & { readonly typeUrl: string } }
  | { readonly put: ResourceSet };

const { cluster, endpoint, listener, route, secret } = types;
const sotw = (typeUrl: string, more: Partial<SotwRequest> = {}): SingleEvent => ({ sotw: { typeUrl, ...more } });
const delta = (typeUrl: string, more: Partial<DeltaRequest> = {}): SingleEvent => ({ delta: { typeUrl, ...more } });
const put = (typeUrl: string, contents: Readonly<Record<string, string>>): Event => ({
  put: resourceSet(typeUrl, contents),
});
const error = { code: 13, message: "cannot use this" };
const heldAs = (set: ResourceSet): DeltaRequest["held"] => new Map(set.byName);

/** A server stream whose nonces are 1, 2, 3 … and whose world is what was put. */
class Server {
  readonly form: Form;
  readonly log: string[] = [];
  state: StreamState = newStream;
  readonly #world = new Map<string, ResourceSet>();
  readonly #bodies = new Bodies();
  #nonce = 0;

  constructor(form: Form) {
    this.form = form;
  }

  run(event: Event): readonly string[] {
    this.log.length = 0;
    for (const one of "together" in event ? event.together : [event]) this.#meet(one);
    this.#write();
    return [...this.log];
  }

  #meet(event: SingleEvent): void {
    if ("put" in event) {
      this.#world.set(event.put.typeUrl, event.put);
      this.#step({ type: "stale", typeUrl: event.put.typeUrl });
    } else this.#step({ type: "request", request: complete(event) });
  }

  #write(): void {
    const { form } = this;
    const bodies = this.#bodies;
    for (;;) {
      const turn = takeTurn(this.state, {
        form,
        bodies,
        nowMs: 0,
        orderWaitMs: 1_000,
        setOf: (typeUrl, { wildcard, names }) => {
          const all = this.#world.get(typeUrl);
          if (all === undefined || wildcard) return all;
          return setOf(
            typeUrl,
            [...all.byName.values()].filter(({ name }) => names.has(name)),
          );
        },
      });
      this.state = turn.state;
      if (turn.message === undefined) return;
      const { typeUrl, set, body, again } = turn.message;
      const parts = [
        ...body.resources.map(({ name, bytes }) => `${name}=${contentOf(bytes) ?? ""}`),
        ...(form === "delta" ? body.removed : []).map((name) => `-${name}`),
      ];
      this.log.push([`${short(typeUrl)}:`, ...parts].join(" "));
      this.#step({ type: "sent", typeUrl, set, body, nonce: String(++this.#nonce), again });
    }
  }

  #step(event: Parameters<typeof step>[1]): void {
    const [state, effects] = step(this.state, event);
    this.state = state;
    for (const effect of effects) if (effect.type !== "due") this.log.push(textOf(effect));
  }
}

function complete(event: Exclude<SingleEvent, { put: ResourceSet }>): ClientRequest {
  const common = { nonce: "", error: undefined };
  return "sotw" in event
    ? { ...common, names: [], version: "", ...event.sotw }
    : { ...common, subscribe: [], unsubscribe: [], held: new Map(), ...event.delta };
}

function short(typeUrl: string): string {
  return Object.entries(types).find(([, url]) => url === typeUrl)?.[0] ?? typeUrl;
}

function textOf(effect: Effect): string {
  switch (effect.type) {
    case "acknowledged":
      return `ACK ${effect.nonce}`;
    case "rejected":
      return `NACK ${effect.rejection.nonce} ${effect.rejection.message}`;
    case "expired":
      return `expired ${effect.nonce}`;
    case "question":
      return `question ${effect.typeUrl} ${effect.names.join()}`;
    case "health":
      return `health ${effect.healthy} ${effect.message}`;
    default:
      return effect.type;
  }
}

const ab = { a: "1", b: "1" };
const versionOf = (typeUrl: string, contents: Readonly<Record<string, string>>) =>
  resourceSet(typeUrl, contents).version;

const cases: Readonly<Record<Form, readonly { readonly name: string; readonly lines: readonly Line[] }[]>> = {
  sotw: [
    {
      name: "a first request is answered in full",
      lines: [
        [put(cluster, ab)],
        [sotw(cluster), "cluster: a=1 b=1"],
        [put(route, ab)],
        [sotw(route, { names: ["a"] }), "route: a=1"],
      ],
    },
    {
      name: "a wildcard client is answered even if there is nothing",
      lines: [[put(cluster, {})], [sotw(cluster), "cluster:"]],
    },
    {
      name: "an acknowledgement is not answered",
      lines: [
        [put(cluster, ab)],
        [sotw(cluster), "cluster: a=1 b=1"],
        [sotw(cluster, { nonce: "1" }), "ACK 1"],
        [sotw(cluster, { nonce: "1" })],
      ],
    },
    {
      name: "a refusal is noted and not answered, and does not become an acceptance when its nonce is repeated",
      lines: [
        [put(cluster, ab)],
        [sotw(cluster), "cluster: a=1 b=1"],
        [sotw(cluster, { nonce: "1", error }), "NACK 1 cannot use this"],
        [sotw(cluster, { nonce: "1" })],
        [put(cluster, { a: "2" }), "cluster: a=2"],
        [sotw(cluster, { nonce: "2" }), "ACK 2"],
      ],
    },
    {
      name: "a refusal of a type without a subscription is noted",
      lines: [[sotw(cluster, { nonce: "x", error }), "NACK x cannot use this"], [put(cluster, ab)]],
    },
    {
      name: "a stale nonce is counted and not answered, even with other names",
      lines: [
        [put(route, ab)],
        [sotw(route, { names: ["a"] }), "route: a=1"],
        [put(route, { a: "2", b: "1" }), "route: a=2"],
        [sotw(route, { names: ["a", "b"], nonce: "1" }), "expired 1"],
        [sotw(route, { names: ["a", "b"], nonce: "2" }), "ACK 2", "route: b=1"],
      ],
    },
    {
      name: "a name given up and asked for again while a message was on its way is sent again",
      lines: [
        [put(route, ab)],
        [sotw(route, { names: ["a", "b"] }), "route: a=1 b=1"],
        [put(route, { a: "2", b: "1" }), "route: a=2"],
        [sotw(route, { names: ["a"], nonce: "1" }), "expired 1"],
        [sotw(route, { names: ["a", "b"], nonce: "1" }), "expired 1"],
        [sotw(route, { names: ["a", "b"], nonce: "2" }), "ACK 2", "route: b=1"],
      ],
    },
    {
      name: "a nonce of another stream for a new type counts as a first request",
      lines: [[put(cluster, ab)], [sotw(cluster, { nonce: "elsewhere" }), "cluster: a=1 b=1"]],
    },
    {
      name: "an empty nonce on a known type starts over",
      lines: [[put(cluster, ab)], [sotw(cluster), "cluster: a=1 b=1"], [sotw(cluster), "cluster: a=1 b=1"]],
    },
    {
      name: "names added before the first answer arrived are answered alone, on any of these requests",
      lines: [
        [put(secret, { a: "1", b: "1", c: "1", d: "1" })],
        [sotw(secret, { names: ["a"] }), "secret: a=1"],
        [sotw(secret, { names: ["a", "b"] }), "secret: b=1"],
        [sotw(secret, { names: ["a", "b", "c", "d"] }), "secret: c=1 d=1"],
        [sotw(secret, { names: ["a", "b", "c", "d"], nonce: "1" }), "expired 1"],
        [sotw(secret, { names: ["a", "b", "c", "d"], nonce: "3" }), "ACK 3"],
      ],
    },
    {
      name: "an empty nonce with the same names, with fewer, or after an answer was acknowledged starts over",
      lines: [
        [put(secret, ab)],
        [sotw(secret, { names: ["a"] }), "secret: a=1"],
        [sotw(secret, { names: ["a"] }), "secret: a=1"],
        [sotw(secret, { names: ["b"] }), "secret: b=1"],
        [sotw(secret, { names: ["b"], nonce: "3" }), "ACK 3"],
        [sotw(secret, { names: ["a", "b"] }), "secret: a=1 b=1"],
      ],
    },
    {
      name: "no names of a named type: the watch is forgotten, nothing is answered",
      lines: [
        [put(endpoint, ab)],
        [sotw(endpoint)],
        [sotw(endpoint, { names: ["a"] }), "endpoint: a=1"],
        [sotw(endpoint, { nonce: "1" }), "forgotten"],
        [put(endpoint, { a: "2" })],
        [sotw(endpoint, { names: ["a"], nonce: "1" }), "endpoint: a=2"],
      ],
    },
    {
      name: "a type asked for again on its stream is answered though nothing changed, and names added before the answer are",
      lines: [
        [put(endpoint, { a: "1" })],
        [sotw(endpoint, { names: ["a"] }), "endpoint: a=1"],
        [sotw(endpoint, { nonce: "1", version: versionOf(endpoint, { a: "1" }) }), "forgotten"],
        [sotw(endpoint, { names: ["a"], nonce: "1", version: versionOf(endpoint, { a: "1" }) }), "endpoint: a=1"],
        [sotw(endpoint, { nonce: "2" }), "forgotten"],
        [put(endpoint, {})],
        [sotw(route, { names: ["a"], nonce: "1" })],
        [sotw(route, { names: ["a", "b"], nonce: "1" })],
        [put(route, { b: "1" }), "route: b=1"],
      ],
    },
    {
      name: "the version of a type that a new stream asked nothing of is that of what the client had once",
      lines: [
        [put(endpoint, { a: "1" })],
        [sotw(endpoint, { version: versionOf(endpoint, { a: "1" }) })],
        [sotw(endpoint, { names: ["a"], version: versionOf(endpoint, { a: "1" }) }), "endpoint: a=1"],
      ],
    },
    {
      name: "what a reconnect shows does not count for names that were given up before it was looked at",
      lines: [
        [put(route, ab)],
        [
          {
            together: [["a", "b"], ["a"], ["a", "b"]].map((names) =>
              sotw(route, { names, version: versionOf(route, ab) }),
            ),
          },
          "route: a=1 b=1",
        ],
      ],
    },
    {
      name: "a named type that only lost names is not answered; added ones are, alone",
      lines: [
        [put(endpoint, ab)],
        [sotw(endpoint, { names: ["a", "b"] }), "endpoint: a=1 b=1"],
        [sotw(endpoint, { names: ["a"], nonce: "1" }), "ACK 1"],
        [sotw(endpoint, { names: ["a", "b"], nonce: "1" }), "endpoint: b=1"],
      ],
    },
    {
      name: "named listeners (as of gRPC clients) are answered as a whole when the names change",
      lines: [
        [put(listener, ab)],
        [sotw(listener, { names: ["a"] }), "listener: a=1"],
        [sotw(listener, { names: ["a", "b"], nonce: "1" }), "ACK 1", "listener: a=1 b=1"],
        [sotw(listener, { names: ["b"], nonce: "2" }), "ACK 2", "listener: b=1"],
        [sotw(listener, { nonce: "3" }), "forgotten"],
      ],
    },
    {
      name: "of a wildcard type everything is sent when anything changed, of a named type what changed",
      lines: [
        [put(cluster, ab)],
        [sotw(cluster), "cluster: a=1 b=1"],
        [put(cluster, { a: "2", b: "1" }), "cluster: a=2 b=1"],
        [put(route, ab)],
        [sotw(route, { names: ["a", "b"] }), "route: a=1 b=1"],
        [sotw(cluster, { nonce: "2" }), "ACK 2"],
        [put(route, { a: "1", b: "2" }), "route: b=2"],
      ],
    },
    {
      name: "equal contents are not sent again",
      lines: [[put(cluster, ab)], [sotw(cluster), "cluster: a=1 b=1"], [put(cluster, { a: "1", b: "1" })]],
    },
    {
      name: "an unknown cluster gets an empty assignment, when asked for and when it goes",
      lines: [
        [put(endpoint, { a: "1" })],
        [sotw(endpoint, { names: ["a", "x"] }), "endpoint: a=1 x="],
        [put(endpoint, {}), "endpoint: a="],
      ],
    },
    {
      name: "a reconnect that shows the present version is not answered, one with an older version in full",
      lines: [
        [put(cluster, ab)],
        [sotw(cluster, { version: versionOf(cluster, ab) })],
        [put(route, ab)],
        [sotw(route, { names: ["a", "b"], version: "old" }), "route: a=1 b=1"],
        [sotw(route, { names: ["a", "b"], nonce: "1" }), "ACK 1"],
        [put(cluster, { a: "2" }), "cluster: a=2"],
      ],
    },
    {
      name: "after a silent reconnect added names are answered alone",
      lines: [
        [put(route, ab)],
        [sotw(route, { names: ["a"], version: versionOf(route, { a: "1" }) })],
        [sotw(route, { names: ["a", "b"], version: versionOf(route, { a: "1" }) }), "route: b=1"],
      ],
    },
    {
      name: "a reconnect with the version of fewer names is answered when one of the names is absent",
      lines: [
        [put(route, { a: "1" })],
        [sotw(route, { names: ["a", "x"], version: versionOf(route, { a: "1" }) }), "route: a=1"],
      ],
    },
    {
      name: "what went with a refused message goes again with the next, but not what the client named as bad",
      lines: [
        [put(route, { a: "1", b: "1", c: "1" })],
        [sotw(route, { names: ["a", "b", "c"] }), "route: a=1 b=1 c=1"],
        [
          sotw(route, { names: ["a", "b", "c"], nonce: "1", error: { code: 13, message: "route b: unknown cluster" } }),
          "NACK 1 route b: unknown cluster",
        ],
        [put(route, { a: "1", b: "1", c: "2" }), "route: c=2 a=1"],
        [sotw(route, { names: ["a", "b", "c"], nonce: "2" }), "ACK 2"],
        [put(route, { a: "1", b: "2", c: "2" }), "route: b=2"],
      ],
    },
  ],
  delta: [
    {
      name: "an empty first subscription and a star mean everything; it is answered even if there is nothing",
      lines: [
        [put(cluster, ab)],
        [delta(cluster), "cluster: a=1 b=1"],
        [put(listener, {})],
        [delta(listener, { subscribe: ["*"] }), "listener:"],
      ],
    },
    {
      name: "a client without subscriptions gives up the star in its first request",
      lines: [
        [put(cluster, ab)],
        [delta(cluster, { subscribe: ["*"], unsubscribe: ["*"] })],
        [put(cluster, { a: "2" })],
      ],
    },
    {
      name: "names are answered, unknown ones as removed",
      lines: [[put(route, ab)], [delta(route, { subscribe: ["a", "x"] }), "route: a=1 -x"]],
    },
    {
      name: "only what changed is sent, and what is gone is named",
      lines: [
        [put(cluster, ab)],
        [delta(cluster), "cluster: a=1 b=1"],
        [delta(cluster, { nonce: "1" }), "ACK 1"],
        [put(cluster, { b: "2", c: "1" }), "cluster: b=2 c=1 -a"],
        [put(cluster, { b: "2", c: "1" })],
      ],
    },
    {
      name: "an acknowledgement changes no subscription and is not answered; a stale nonce is counted",
      lines: [
        [put(route, ab)],
        [delta(route, { subscribe: ["a", "b"] }), "route: a=1 b=1"],
        [put(route, { a: "2", b: "1" }), "route: a=2"],
        [delta(route, { nonce: "1" }), "expired 1"],
        [delta(route, { nonce: "2" }), "ACK 2"],
        [put(route, { a: "2", b: "2" }), "route: b=2"],
      ],
    },
    {
      name: "names that come with a stale acknowledgement or a refusal are not lost",
      lines: [
        [put(route, { a: "1", b: "1", c: "1" })],
        [delta(route, { subscribe: ["a"] }), "route: a=1"],
        [put(route, { a: "2", b: "1", c: "1" }), "route: a=2"],
        [delta(route, { nonce: "1", subscribe: ["b"] }), "expired 1", "route: b=1"],
        [delta(route, { nonce: "3", error, subscribe: ["c"] }), "NACK 3 cannot use this", "route: c=1 b=1"],
      ],
    },
    {
      name: "a spontaneous request has no nonce and is never stale; giving up names is not answered",
      lines: [
        [put(endpoint, ab)],
        [delta(endpoint, { subscribe: ["a"] }), "endpoint: a=1"],
        [delta(endpoint, { subscribe: ["b"] }), "endpoint: b=1"],
        [delta(endpoint, { unsubscribe: ["a"] })],
        [put(endpoint, { a: "2", b: "2" }), "endpoint: b=2"],
        [put(endpoint, {}), "endpoint: -b"],
      ],
    },
    {
      name: "a name that is asked for again is sent again",
      lines: [
        [put(endpoint, ab)],
        [delta(endpoint, { subscribe: ["a", "b"] }), "endpoint: a=1 b=1"],
        [delta(endpoint, { subscribe: ["a"] }), "endpoint: a=1"],
        [delta(endpoint, { unsubscribe: ["b"] })],
        [delta(endpoint, { subscribe: ["b"] }), "endpoint: b=1"],
      ],
    },
    {
      name: "a wildcard client that gives up a name is sent it again, as it has forgotten it",
      lines: [
        [put(types.address, ab)],
        [delta(types.address, { subscribe: ["*", "a", "x"] }), "address: a=1 b=1 -x"],
        [delta(types.address, { unsubscribe: ["a", "x"] }), "address: a=1 -x"],
      ],
    },
    {
      name: "giving up the star leaves the names",
      lines: [
        [put(types.authorization, ab)],
        [delta(types.authorization, { subscribe: ["*", "a"] }), "authorization: a=1 b=1"],
        [delta(types.authorization, { unsubscribe: ["*"] })],
        [put(types.authorization, { a: "2", b: "2" }), "authorization: a=2"],
      ],
    },
    {
      name: "a reconnect that shows what it has is sent what differs",
      lines: [
        [put(cluster, { b: "1", c: "1" })],
        [delta(cluster, { held: heldAs(resourceSet(cluster, { a: "1", b: "1" })) }), "cluster: c=1 -a"],
        [delta(cluster, { nonce: "1" }), "ACK 1"],
        [put(route, ab)],
        [delta(route, { subscribe: ["a", "b"], held: heldAs(resourceSet(route, ab)) })],
        [put(route, { a: "2", b: "1" }), "route: a=2"],
      ],
    },
    {
      name: "what a reconnect shows does not count for names that were given up before it was looked at",
      lines: [
        [put(route, ab)],
        [
          {
            together: [
              delta(route, { subscribe: ["a", "b"], held: heldAs(resourceSet(route, ab)) }),
              delta(route, { unsubscribe: ["b"] }),
              delta(route, { subscribe: ["b"] }),
            ],
          },
          "route: b=1",
        ],
      ],
    },
    {
      name: "names of what it has are subscribed to, if it is no wildcard",
      lines: [
        [put(endpoint, ab)],
        [delta(endpoint, { held: heldAs(resourceSet(endpoint, { a: "1" })) })],
        [put(endpoint, { a: "2", b: "2" }), "endpoint: a=2"],
      ],
    },
    {
      name: "a refused removal is sent again with the next change",
      lines: [
        [put(secret, ab)],
        [delta(secret, { subscribe: ["a", "b"] }), "secret: a=1 b=1"],
        [put(secret, { a: "1" }), "secret: -b"],
        [delta(secret, { nonce: "2", error }), "NACK 2 cannot use this"],
        [put(secret, { a: "2" }), "secret: a=2 -b"],
      ],
    },
  ],
};

for (const form of ["sotw", "delta"] as const) {
  describe(`a ${form} stream`, () => {
    for (const { name, lines } of cases[form]) {
      it(name, () => {
        const server = new Server(form);
        lines.forEach(([event, ...out], i) => {
          assert.deepEqual(server.run(event), out, `line ${i + 1}`);
        });
      });
    }
  });
}

describe("a stream of either form", () => {
  const ask = (form: Form) => (form === "sotw" ? sotw : delta);
  /** A client that has subscribed to the routes a and b, its answers, and the message of its rejection. */
  function subscribed(form: Form) {
    const server = new Server(form);
    const names = form === "sotw" ? { names: ["a", "b"] } : {};
    server.run(put(route, ab));
    server.run(form === "sotw" ? sotw(route, names) : delta(route, { subscribe: ["a", "b"] }));
    return {
      server,
      /** Acknowledges, or rejects with the message. */
      answer: (nonce: string, message?: string) =>
        server.run(ask(form)(route, { ...names, nonce, ...(message && { error: { code: 13, message } }) })),
      rejected: () => server.state.types.get(route)?.rejection?.message,
    };
  }
  for (const form of ["sotw", "delta"] as const) {
    it(`${form}: health goes from client to server only`, () => {
      const server = new Server(form);
      assert.deepEqual(server.run(ask(form)(types.healthInformation)), ["health true "]);
      const message = { code: 1, message: "probe failed" };
      assert.deepEqual(server.run(ask(form)(types.healthInformation, { error: message })), [
        "health false probe failed",
      ]);
      assert.equal(server.state.types.size, 0);
    });

    it(`${form}: a rejection holds while the resource that it names is withheld, whatever else is taken`, () => {
      const { server, answer, rejected } = subscribed(form);
      answer("1", "route b: unknown cluster");
      assert.deepEqual(server.run(put(route, { a: "2", b: "1" })), ["route: a=2"]);
      assert.deepEqual([answer("2"), rejected()], [["ACK 2"], "route b: unknown cluster"]);
      // Otherwise each change of another resource would send it, and be rejected, again.
      assert.deepEqual(server.run(put(route, { a: "3", b: "1" })), ["route: a=3"]);
      assert.deepEqual([answer("3"), rejected()], [["ACK 3"], "route b: unknown cluster"]);
      assert.deepEqual(server.run(put(route, { a: "3", b: "2" })), ["route: b=2"]);
      assert.deepEqual([answer("4"), rejected()], [["ACK 4"], undefined]);
    });

    it(`${form}: a rejection ends with the resource that it names, or with the next answer when it names none`, () => {
      const { server, answer, rejected } = subscribed(form);
      answer("1", "route b: unknown cluster");
      server.run(put(route, { a: "2" }));
      answer("2");
      assert.equal(rejected(), undefined);
      server.run(put(route, { a: "3" }));
      answer("3", "out of memory");
      assert.equal(rejected(), "out of memory");
      server.run(put(route, { a: "4" }));
      answer("4");
      assert.equal(rejected(), undefined);
    });

    it(`${form}: a message that was on its way when another was rejected does not end the rejection`, () => {
      const { server, answer, rejected } = subscribed(form);
      assert.deepEqual(server.run(put(route, { a: "2", b: "1" })), ["route: a=2"]);
      answer("1", "route b: unknown cluster");
      assert.deepEqual([answer("2"), rejected()], [["ACK 2"], "route b: unknown cluster"]);
    });

    it(`${form}: a debug type is a question, asked as often as the client likes`, () => {
      const server = new Server(form);
      for (const nonce of ["", "n1"]) {
        assert.deepEqual(server.run(ask(form)("istio.io/debug/syncz", { nonce })), ["question istio.io/debug/syncz "]);
      }
      assert.equal(server.state.types.size, 0);
    });

    it(`${form}: an unserved type is never answered, and ends nothing`, () => {
      const server = new Server(form);
      assert.deepEqual(server.run(ask(form)("type.googleapis.com/what.is.This")), []);
      server.run(put(cluster, ab));
      assert.deepEqual(server.run(ask(form)(cluster)), ["cluster: a=1 b=1"]);
    });
  }
});
