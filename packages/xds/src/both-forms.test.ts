/**
 * Delta and state of the world side by side in one history of changes, subscriptions, refusals of messages and of single resources,
 * lost streams and any interleaving: in the end both clients hold what the server has of what they subscribed to, and a stream that
 * shows these versions is sent nothing again.
 */
import assert from "node:assert/strict";
import { it } from "node:test";
import { typeUrl as types } from "@flotilla/proto";
import { checkProperty, fc } from "@flotilla/testkit";
import { ClientState } from "./client/client-state.ts";
import type { ClientResponse } from "./client/response.ts";
import { Bodies } from "./message-body.ts";
import type { Form } from "./plan.ts";
import type { ResourceSet } from "./resource-set.ts";
import { rulesOf } from "./resource-set.ts";
import { contentOf, isServedByWildcard, resource, setOf } from "./testing/fixtures.ts";
import { Loopback, picker } from "./testing/loopback.ts";

const typeUrls = [types.cluster, types.endpoint, types.listener, types.route, types.secret, types.nameTable];
const names = ["a", "b", "c", "d"];
/** Clients take no resource with it, wherever it stands. */
const bad = "bad";

const form = fc.constantFrom<Form>("delta", "sotw");
const typeUrl = fc.constantFrom(...typeUrls);
const someNames = fc.uniqueArray(fc.constantFrom(...names));
const contents = fc.constantFrom("1", "2", bad);
const command = fc.oneof(
  fc.record({
    do: fc.constant("change" as const),
    typeUrl,
    put: fc.dictionary(fc.constantFrom(...names), contents, { noNullPrototype: true }),
    gone: someNames,
  }),
  fc.record({ do: fc.constant("subscribe" as const), typeUrl, names: someNames }),
  fc.record({ do: fc.constant("unsubscribe" as const), typeUrl, names: someNames }),
  fc.record({ do: fc.constant("refuse" as const), form, messages: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ do: fc.constant("reconnect" as const), form }),
  fc.record({ do: fc.constant("settle" as const), form }),
  ...Array.from({ length: 3 }, () =>
    fc.record({
      do: fc.constant("step" as const),
      form,
      of: fc.constantFrom("server reads", "client reads", "server writes", "server does not wait"),
    }),
  ),
);
type Command = typeof command extends fc.Arbitrary<infer Value> ? Value : never;

/** A client of one form, with the stream that it has now. */
class Peer {
  readonly client: ClientState;
  stream: Loopback;
  readonly #world: ReadonlyMap<string, ResourceSet>;
  /** Messages that are refused as a whole. */
  #refusing = 0;

  constructor(of: Form, world: ReadonlyMap<string, ResourceSet>) {
    this.#world = world;
    this.client = new ClientState({
      form: of,
      check: () => (this.#refusing-- > 0 ? "cannot use this" : undefined),
      refusals: badOnes,
    });
    this.stream = this.#open();
  }

  refuse(messages: number): void {
    this.#refusing = messages;
  }

  /** The next stream is another replica's: equal resources, no object shared. */
  reconnect(): void {
    this.stream = this.#open();
  }

  subscribe(url: string, wanted: readonly string[]): void {
    if (isServedByWildcard(url)) this.stream.request(this.client.subscribe(url));
    else if (wanted.length > 0) this.stream.request(this.client.subscribe(url, wanted));
  }

  unsubscribe(url: string, given: readonly string[]): void {
    const held = given.filter((name) => this.client.subscribed(url).has(name));
    if (held.length > 0) this.stream.request(this.client.unsubscribe(url, held));
  }

  #open(): Loopback {
    const copies = new WeakMap<ResourceSet, ResourceSet>();
    const world = (url: string) => {
      const set = this.#world.get(url);
      if (set === undefined) return undefined;
      const copy = copies.get(set) ?? setOf(url, [...set.byName.values()]);
      copies.set(set, copy);
      return copy;
    };
    return new Loopback({ client: this.client, bodies: new Bodies(), pick: picker(), world });
  }
}

function badOnes({ resources }: ClientResponse): ReadonlyMap<string, string> {
  return new Map(resources.filter(({ bytes }) => contentOf(bytes) === bad).map(({ name }) => [name, "bad content"]));
}

class History {
  readonly world = new Map(typeUrls.map((url) => [url as string, setOf(url, [])]));
  readonly peers = { delta: new Peer("delta", this.world), sotw: new Peer("sotw", this.world) };

  each(act: (peer: Peer) => void): void {
    for (const peer of Object.values(this.peers)) act(peer);
  }

  run(one: Command): void {
    if (one.do === "change") this.change(one.typeUrl, one.put, one.gone);
    else if (one.do === "subscribe") this.each((peer) => peer.subscribe(one.typeUrl, one.names));
    else if (one.do === "unsubscribe") this.each((peer) => peer.unsubscribe(one.typeUrl, one.names));
    else if (one.do === "refuse") this.peers[one.form].refuse(one.messages);
    else if (one.do === "reconnect") this.peers[one.form].reconnect();
    else if (one.do === "settle") this.peers[one.form].stream.settle();
    else {
      const { stream } = this.peers[one.form];
      if (one.of === "server reads") stream.serverReads();
      else if (one.of === "client reads") stream.clientReads();
      else stream.serverWrites({ patient: one.of === "server writes" });
    }
  }

  change(url: string, put: Readonly<Record<string, string>>, gone: readonly string[] = []): void {
    const byName = new Map(this.world.get(url)?.byName);
    for (const name of gone) byName.delete(name);
    for (const [name, content] of Object.entries(put)) byName.set(name, resource(url, name, content));
    this.world.set(url, setOf(url, [...byName.values()]));
    this.each(({ stream }) => stream.stale(url));
  }

  /** Nothing is refused any more, and each type changes once more: refused messages are tried again with the next change. */
  end(): void {
    this.each((peer) => {
      peer.refuse(0);
      peer.stream.settle();
    });
    for (const url of typeUrls) {
      const all = [...(this.world.get(url)?.byName.values() ?? [])];
      const repaired = all
        .filter(({ bytes }) => contentOf(bytes) === bad)
        .map(({ name }) => [name, "repaired"] as const);
      this.change(url, { ...Object.fromEntries(repaired), last: "of all" });
      this.each((peer) => {
        if (peer.client.subscribed(url).size > 0) peer.subscribe(url, ["last"]);
      });
    }
    this.each(({ stream }) => stream.settle());
  }
}

function held(client: ClientState, world: ResourceSet | undefined, url: string): Readonly<Record<string, string>> {
  // State of the world cannot take back a named resource, other than endpoints: the client keeps what is gone.
  const keeps = client.form === "sotw" && !rulesOf(url).complete && url !== types.endpoint;
  const all = [...client.held(url).values()].filter(({ name }) => !keeps || world?.byName.has(name));
  // Endpoints of a cluster that has none are an empty assignment, by state of the world.
  return textsOf(all.filter(({ bytes }) => contentOf(bytes) !== undefined));
}

function wanted(
  client: ClientState,
  world: ResourceSet | undefined,
  isAsked: boolean,
): Readonly<Record<string, string>> {
  const all = [...(world?.byName.values() ?? [])];
  const isWanted = (name: string) =>
    world && isServedByWildcard(world.typeUrl) ? isAsked : client.subscribed(world?.typeUrl ?? "").has(name);
  return textsOf(all.filter(({ name }) => isWanted(name)));
}

function textsOf(
  resources: Iterable<{ readonly name: string; readonly bytes: Uint8Array }>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(Array.from(resources, ({ name, bytes }) => [name, contentOf(bytes) ?? ""] as const).sort());
}

function checkHistory(commands: readonly Command[]): void {
  const history = new History();
  for (const one of commands) history.run(one);
  history.end();
  const asked = new Set(commands.flatMap((one) => (one.do === "subscribe" ? [one.typeUrl as string] : [])));
  for (const [of, peer] of Object.entries(history.peers)) {
    for (const url of typeUrls) {
      const set = history.world.get(url);
      assert.deepEqual(held(peer.client, set, url), wanted(peer.client, set, asked.has(url)), `${of}, ${url}`);
    }
    peer.reconnect();
    peer.stream.settle();
    // A state-of-the-world client that gave up names shows the version of more names than it still requests.
    const again = peer.stream.sent.filter(({ typeUrl: url }) => of === "delta" || rulesOf(url).complete);
    const resources = again.flatMap(({ typeUrl: url, resources: all }) => all.map(({ name }) => `${url} ${name}`));
    assert.deepEqual(resources, [], `${of}: sent again to who has it`);
  }
}

it("delta and state of the world end with the same resources after any history", () => {
  checkProperty(fc.array(command, { maxLength: 60, size: "max" }), checkHistory, { runs: 600 });
});
