/**
 * Whatever happens on the way (changes, subscriptions, refusals, lost streams, another replica, any interleaving), a
 * client of either form ends up with exactly what a fresh one is given.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { typeUrl as types } from "@flotilla/proto";
import { seededRandom } from "@flotilla/proto/testing";
import { ClientState } from "./client/client-state.ts";
import { Bodies } from "./message-body.ts";
import type { Form } from "./plan.ts";
import type { ResourceSet } from "./resource-set.ts";
import { rulesOf } from "./resource-set.ts";
import { contentOf, isServedByWildcard, resource, setOf } from "./testing/fixtures.ts";
import { Loopback, picker } from "./testing/loopback.ts";

const runs = 1_000; // of each form
const typeUrls = [types.cluster, types.endpoint, types.listener, types.route, types.secret, types.nameTable];
const names = ["a", "b", "c", "d", "e"];

type World = Map<string, ResourceSet>;

function replica(world: World) {
  const copies = new WeakMap<ResourceSet, ResourceSet>();
  const copyOf = (set: ResourceSet): ResourceSet => {
    const known = copies.get(set);
    if (known !== undefined) return known;
    const byName = new Map([...set.byName].map(([name, one]) => [name, { ...one, bytes: Uint8Array.from(one.bytes) }]));
    const copy = { ...set, byName };
    copies.set(set, copy);
    return copy;
  };
  const present = (typeUrl: string): ResourceSet | undefined => {
    const set = world.get(typeUrl);
    return set === undefined ? undefined : copyOf(set);
  };
  return { bodies: new Bodies(), pick: picker(), world: present };
}

/** @returns how many resources the client holds in the end. */
function run(form: Form, seed: number): number {
  const next = seededRandom(seed);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(next() * items.length)] as T;
  const some = (): string[] => names.filter(() => next() < 0.4);
  const world: World = new Map(typeUrls.map((typeUrl) => [typeUrl, setOf(typeUrl, [])]));
  // Two replicas hold equal resources, and share no object.
  const replicas = [replica(world), replica(world)];
  let refusing = 0;
  let step = 0;
  const client = new ClientState({ form, check: () => (next() < refusing ? "cannot use this" : undefined) });
  const open = () => new Loopback({ client, ...pick(replicas) });
  let stream = open();

  const change = (typeUrl: string): void => {
    const kept = [...(world.get(typeUrl)?.byName.values() ?? [])].filter(() => next() < 0.7);
    const added = some().map((name) => resource(typeUrl, name, `content ${Math.floor(next() * 3)}`));
    const byName = new Map([...kept, ...added].map((r) => [r.name, r]));
    world.set(typeUrl, setOf(typeUrl, [...byName.values()]));
    stream.stale(typeUrl);
  };
  const resubscribe = (typeUrl: string): void => {
    if (isServedByWildcard(typeUrl)) {
      stream.request(client.subscribe(typeUrl));
      return;
    }
    const held = [...client.subscribed(typeUrl)];
    if (held.length > 0 && next() < 0.4) {
      stream.request(
        client.unsubscribe(
          typeUrl,
          held.filter(() => next() < 0.5),
        ),
      );
      return;
    }
    const wanted = some();
    if (wanted.length > 0) stream.request(client.subscribe(typeUrl, wanted));
  };
  const actions = [
    () => change(pick(typeUrls)),
    () => typeUrls.forEach(change),
    () => resubscribe(pick(typeUrls)),
    () => void stream.serverReads(),
    () => void stream.clientReads(),
    () => void stream.serverWrites({ endpointsFirst: step % 2 === 0 }),
    () => void stream.serverReads(),
    () => void stream.clientReads(),
    () => void stream.serverWrites({ endpointsFirst: step % 2 === 0 }),
    () => void stream.serverWrites({ patient: false }),
    () => void stream.serverWrites({}),
    () => {
      refusing = next() < 0.3 ? 0.3 : 0;
    },
    () => {
      if (next() < 0.3) stream = open();
    },
    () => stream.settle(),
  ];
  for (; step < 60; step++) pick(actions)();

  // A refused message is tried again with the next change of its type, so each type gets one more.
  refusing = 0;
  stream.settle();
  for (const typeUrl of typeUrls) {
    const resources = [...(world.get(typeUrl)?.byName.values() ?? [])];
    world.set(typeUrl, setOf(typeUrl, [...resources, resource(typeUrl, "last", "of all")]));
    stream.stale(typeUrl);
    if (!isServedByWildcard(typeUrl) && client.subscribed(typeUrl).size > 0) {
      stream.request(client.subscribe(typeUrl, ["last"]));
    }
  }
  stream.settle();
  for (const typeUrl of typeUrls) {
    assert.deepEqual(
      contents(client, world, typeUrl),
      expected(client, world, typeUrl),
      `seed ${seed}, ${form}, ${typeUrl}`,
    );
  }

  stream = open();
  stream.settle();
  const again = stream.sent.filter(({ typeUrl }) => form === "delta" || rulesOf(typeUrl).complete);
  const sentAgain = again.flatMap(({ typeUrl, resources }) => resources.map(({ name }) => `${typeUrl} ${name}`));
  // A state-of-the-world client that gave up names shows the version of more names than it still requests.
  assert.deepEqual(sentAgain, [], `seed ${seed}, ${form}: sent again after a reconnect`);
  return typeUrls.reduce((count, typeUrl) => count + client.held(typeUrl).size, 0);
}

function contents(client: ClientState, world: World, typeUrl: string): Record<string, string> {
  // State of the world cannot take back a named resource, other than endpoints: the client keeps what is gone.
  const keeps = client.form === "sotw" && !rulesOf(typeUrl).complete && typeUrl !== types.endpoint;
  const held = [...client.held(typeUrl).values()]
    .filter(({ name }) => !keeps || world.get(typeUrl)?.byName.has(name))
    .map(({ name, bytes }) => [name, contentOf(bytes)] as const);
  return Object.fromEntries(held.filter((entry): entry is [string, string] => entry[1] !== undefined).sort());
}

function expected(client: ClientState, world: World, typeUrl: string): Record<string, string> {
  const wanted = client.subscribed(typeUrl);
  const isAsked = isServedByWildcard(typeUrl) ? client.held(typeUrl).size > 0 : true;
  const all = [...(world.get(typeUrl)?.byName.values() ?? [])];
  const entries = all
    .filter(({ name }) => isAsked && (isServedByWildcard(typeUrl) || wanted.has(name)))
    .map(({ name, bytes }) => [name, contentOf(bytes) ?? ""] as const);
  return Object.fromEntries(entries.sort());
}

describe("convergence", () => {
  for (const form of ["sotw", "delta"] as const) {
    it(`${form}: ${runs} random histories end in the state of a fresh client`, () => {
      let held = 0;
      for (let seed = 1; seed <= runs; seed++) held += run(form, seed);
      assert.ok(held > runs * 5, `only ${held} resources at the end of all histories`);
    });
  }
});
