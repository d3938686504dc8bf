import assert from "node:assert/strict";
import { test } from "node:test";
import { noopLogger, timeLimit, until } from "@flotilla/runtime";
import { type ConsulSourceOptions, consulSource } from "./consul-source.ts";
import { fakeInstance, startFakeConsul } from "./fake-consul.fixture.ts";
import type { InputGroup, InputSource } from "./input-source.ts";

function sourceOf(url: string, over: Partial<ConsulSourceOptions> = {}): InputSource {
  return consulSource({
    url,
    token: undefined,
    tokenFile: undefined,
    certificateAuthorities: undefined,
    datacenters: [],
    namespaces: [],
    partition: "",
    connections: 50,
    syncTimeoutMs: 10_000,
    log: noopLogger,
    nowMs: Date.now,
    random: () => 0.5,
    onProblems: () => undefined,
    ...over,
  });
}

/** Follows a source: its reports, and the state after it. */
function follow(source: InputSource) {
  const stop = new AbortController();
  const state = new Map<string, string>();
  const groups: InputGroup[] = [];
  const done = (async () => {
    for await (const group of source.groups(timeLimit(30_000, stop.signal).signal)) {
      groups.push(group);
      for (const input of group.inputs) {
        if (input.type !== "consul") continue;
        if (input.op === "delete") state.delete(input.key.name);
        else state.set(input.key.name, input.instances.map(({ id }) => id).join(","));
      }
    }
  })();
  const text = () =>
    [...state]
      .map(([name, ids]) => `${name}: ${ids}`)
      .sort()
      .join("; ");
  return {
    groups,
    text,
    is: (expected: string) =>
      until(() => text() === expected, { withinMs: 30_000, what: `${expected}, not ${text()}` }),
    async end() {
      stop.abort();
      await done;
      await source[Symbol.asyncDispose]();
    },
  };
}

test("the first group is everything; then each service by itself", async () => {
  await using consul = await startFakeConsul();
  consul.set("a", [fakeInstance("a1")]);
  consul.set("b", [fakeInstance("b1")]);
  const followed = follow(sourceOf(consul.url));
  await followed.is("a: a1; b: b1");
  assert.equal(followed.groups.length, 1);
  assert.deepEqual(followed.groups[0]?.unread, []);
  consul.set("b", [fakeInstance("b1"), fakeInstance("b2")]);
  await followed.is("a: a1; b: b1,b2");
  assert.deepEqual(followed.groups.at(-1)?.inputs.length, 1);
  consul.set("c", [fakeInstance("c1")]);
  consul.set("a", undefined);
  await followed.is("b: b1,b2; c: c1");
  await followed.end();
});

test("an agent that is away, refuses or starts its indexes anew: the last state stays, then what it says holds", async () => {
  await using consul = await startFakeConsul();
  consul.set("a", [fakeInstance("a1")]);
  consul.set("b", [fakeInstance("b1")]);
  const source = sourceOf(consul.url);
  const followed = follow(source);
  await followed.is("a: a1; b: b1");
  consul.refuse(500);
  await until(() => /No cluster leader/.test(source.problems()[0]?.reason ?? ""), {
    withinMs: 30_000,
    what: "a problem",
  });
  const [problem] = source.problems();
  assert.equal(problem?.object, "Consul/dc1");
  assert.match(
    problem?.reason ?? "",
    /^unreachable since \d{4}-.*, the last known state is kept: \[CONSUL_REFUSED\].*No cluster leader/,
  );
  assert.equal(followed.text(), "a: a1; b: b1");
  consul.set("a", undefined);
  consul.set("b", [fakeInstance("b2")]);
  consul.rewind();
  consul.refuse(0);
  await followed.is("b: b2");
  await until(() => source.problems().length === 0, { withinMs: 30_000, what: "no problem" });
  consul.set("b", [fakeInstance("b3")]);
  await followed.is("b: b3");
  await followed.end();
});

test("one that never answers does not hold up the others for longer than the limit, and is reported as unread", async () => {
  await using consul = await startFakeConsul();
  consul.set("a", [fakeInstance("a1")]);
  consul.refuse(403);
  const source = sourceOf(consul.url, { syncTimeoutMs: 100, datacenters: ["dc1"] });
  const followed = follow(source);
  await until(() => followed.groups.length === 1, { withinMs: 30_000, what: "the first group" });
  assert.deepEqual(followed.groups[0]?.unread, ["Consul/dc1"]);
  assert.match(source.problems()[0]?.reason ?? "", /it was never read in full/);
  consul.refuse(0);
  await followed.is("a: a1");
  await until(() => followed.groups.at(-1)?.unread?.length === 0, { withinMs: 30_000, what: "all read" });
  await followed.end();
});

test("more services than connections: all are followed, and no more connections are taken", async () => {
  await using consul = await startFakeConsul();
  const names = Array.from({ length: 12 }, (_, index) => `s${index}`);
  for (const name of names) consul.set(name, [fakeInstance("1")]);
  const followed = follow(sourceOf(consul.url, { connections: 4 }));
  const all = (id: string) =>
    names
      .map((name) => `${name}: ${id}`)
      .sort()
      .join("; ");
  await followed.is(all("1"));
  for (const name of names) consul.set(name, [fakeInstance("2")]);
  await followed.is(all("2"));
  // The list of services has a connection of its own, and the agent may see a question before the end of the one it replaces.
  assert.ok(consul.asked.mostAtOnce <= 9, `${consul.asked.mostAtOnce} at once`);
  await followed.end();
});

test("an instance that is not as it should be is named, the others stay", async () => {
  await using consul = await startFakeConsul();
  consul.set("a", [fakeInstance("a1", { Port: "eighty" }), fakeInstance("a2"), 7]);
  const source = sourceOf(consul.url);
  const followed = follow(source);
  await followed.is("a: a2");
  assert.deepEqual(
    source.problems().map(({ object, field }) => `${object} ${field}`),
    ["Consul/dc1/a/a1 Service.Port", "Consul/dc1/a/[2] "],
  );
  await followed.end();
});

test("datacenters that come and go are followed, and those that go take their services with them", async () => {
  await using consul = await startFakeConsul();
  consul.set("a", [fakeInstance("a1")]);
  const source = sourceOf(consul.url, { datacenters: ["*"], datacentersEveryMs: 20 });
  const followed = follow(source);
  const held = () => {
    const names = new Set<string>();
    for (const input of followed.groups.flatMap(({ inputs }) => inputs)) {
      if (input.type !== "consul") continue;
      const name = `${input.key.datacenter}/${input.key.name}`;
      if (input.op === "put") names.add(name);
      else names.delete(name);
    }
    return [...names].sort().join();
  };
  const are = (expected: string) => until(() => held() === expected, { withinMs: 30_000, what: expected });
  await are("dc1/a");
  consul.setDatacenters(["dc1", "dc2"]);
  await are("dc1/a,dc2/a");
  consul.setDatacenters(["dc1"]);
  await are("dc1/a");
  consul.refuse(500);
  await until(() => source.problems().length > 0, { withinMs: 30_000, what: "a problem" });
  assert.equal(held(), "dc1/a");
  consul.refuse(0);
  consul.set("b", [fakeInstance("b1")]);
  await are("dc1/a,dc1/b");
  await followed.end();
});
