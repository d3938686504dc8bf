/** The services of a scope, followed over a catalog in memory that answers as an agent does. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { until } from "@flotilla/runtime";
import { type CatalogEvent, CatalogFollower } from "./catalog-follower.ts";
import type { ConsulClient, ConsulQuestion } from "./consul-client.ts";
import { ConsulError } from "./errors.ts";
import { Slots } from "./slots.ts";

const soon = (what: string) => ({ withinMs: 60_000, what });
const scope = { datacenter: "dc1", namespace: "team", partition: "p" };
const instance = (id: string, port: unknown = 80) => ({ Node: { Node: "n" }, Service: { ID: id, Port: port } });

/** Questions wait until something is newer than their index. */
function aCatalog() {
  let index = 1;
  const pages = new Map<string, unknown>([["/v1/catalog/services", {}]]);
  const questions: ConsulQuestion[] = [];
  let changed = Promise.withResolvers<void>();
  let failure: Error | undefined;
  const ask = async (question: ConsulQuestion, stop: AbortSignal) => {
    questions.push(question);
    while (failure === undefined && question.index === index) {
      const stopped = new Promise<never>((_, reject) =>
        stop.addEventListener("abort", () => reject(stop.reason), { once: true }),
      );
      await Promise.race([changed.promise, stopped]);
    }
    stop.throwIfAborted();
    if (failure !== undefined) throw failure;
    return { body: pages.get(question.path) ?? [], index };
  };
  const change = (edit: () => void) => {
    edit();
    index++;
    changed.resolve();
    changed = Promise.withResolvers();
  };
  const setServices = (services: Readonly<Record<string, readonly unknown[]>>) =>
    change(() => {
      pages.set("/v1/catalog/services", Object.fromEntries(Object.keys(services).map((name) => [name, []])));
      for (const [name, instances] of Object.entries(services))
        pages.set(`/v1/health/service/${encodeURIComponent(name)}`, instances);
    });
  const setPage = (path: string, body: unknown) => change(() => void pages.set(path, body));
  const setFailure = (error: Error | undefined) =>
    change(() => {
      failure = error;
    });
  return { client: { ask } as unknown as ConsulClient, questions, setServices, setPage, setFailure };
}

function following(catalog: ReturnType<typeof aCatalog>, onEvent?: (event: CatalogEvent) => void) {
  const events: CatalogEvent[] = [];
  let states = 0;
  const follower = new CatalogFollower({
    ...{ client: catalog.client, scope, slots: new Slots(4), nowMs: () => 7, random: () => 0 },
    onEvent: (event) => {
      onEvent?.(event);
      events.push(event);
    },
    onState: () => void states++,
  });
  const stop = new AbortController();
  const ended = follower.run(stop.signal);
  ended.catch(() => undefined);
  const last = () => new Map(events.map(({ key, instances }) => [key.name, instances.map(({ id }) => id)]));
  const end = async () => {
    stop.abort(new Error("stopped"));
    await ended;
  };
  return { follower, events, last, ended, states: () => states, [Symbol.asyncDispose]: end };
}

describe("a followed scope", () => {
  it("has every service with its instances, as they change, and without those that are gone", async () => {
    const catalog = aCatalog();
    catalog.setServices({ web: [instance("web-1")], "a b": [] });
    await using one = following(catalog);
    assert.equal(one.follower.isComplete, false);
    await until(() => one.follower.isComplete, soon("all services"));
    assert.deepEqual(Object.fromEntries(one.last()), { web: ["web-1"], "a b": [] });
    assert.deepEqual(one.events[0]?.key.datacenter, "dc1");
    assert.deepEqual(catalog.questions[0]?.parameters, { dc: "dc1", ns: "team", partition: "p" });
    catalog.setServices({ web: [instance("web-1"), instance("web-2")], new: [instance("new-1")] });
    await until(() => one.last().get("web")?.length === 2 && one.last().has("new"), soon("the change"));
    await until(
      () => one.events.some(({ key, instances }) => key.name === "a b" && instances.length === 0),
      soon("the end"),
    );
    assert.deepEqual(one.follower.problems(), []);
    const ofWeb = one.events.filter(({ key }) => key.name === "web");
    assert.ok(
      ofWeb.every(({ instances }) => instances.length > 0),
      "a service that stays is followed on",
    );
    const askedFirst = catalog.questions.filter(({ path, index }) => path.endsWith("/web") && index === 0);
    assert.equal(askedFirst.length, 1, "and asked for from its beginning once");
    catalog.setServices({});
    await until(() => one.last().get("new")?.length === 0, soon("the end of all"));
    assert.equal(one.follower.isComplete, true);
  });

  it("names instances that it left out, until they are right or gone", async () => {
    const catalog = aCatalog();
    catalog.setServices({ web: [instance("web-1", "80"), instance("web-2")], api: [instance("api-1", "x")] });
    await using one = following(catalog);
    await until(() => one.follower.problems().length === 2, soon("the problems"));
    assert.deepEqual(one.last().get("web"), ["web-2"]);
    const [problem] = one.follower.problems().filter(({ id }) => id === "web-1");
    assert.equal(problem?.field, "Service.Port");
    assert.match(problem?.object ?? "", /dc1.*web|web.*dc1/);
    catalog.setServices({ web: [instance("web-1"), instance("web-2")] });
    await until(() => one.follower.problems().length === 0, soon("no problem"));
  });

  it("knows since when and why the agent is away, and keeps what it has", async () => {
    const catalog = aCatalog();
    catalog.setServices({ web: [instance("web-1")] });
    await using one = following(catalog);
    await until(() => one.follower.isComplete, soon("all services"));
    const before = one.states();
    catalog.setFailure(new ConsulError("CONSUL_UNREACHABLE", "connection refused"));
    await until(() => one.follower.away !== undefined, soon("the loss"));
    assert.deepEqual(one.follower.away, { sinceMs: 7, reason: "[CONSUL_UNREACHABLE] connection refused" });
    assert.ok(one.states() > before);
    assert.deepEqual([one.follower.isComplete, one.last().get("web")], [true, ["web-1"]]);
    catalog.setFailure(undefined);
    await until(() => one.follower.away === undefined, soon("the return"));
  });

  it("keeps what it has when an answer is none", async () => {
    const catalog = aCatalog();
    catalog.setServices({ web: [instance("web-1")] });
    await using one = following(catalog);
    await until(() => one.follower.isComplete, soon("all services"));
    const events = one.events.length;
    catalog.setPage("/v1/catalog/services", []);
    await until(() => one.follower.away !== undefined, soon("the wrong answer"));
    assert.match(one.follower.away?.reason ?? "", /the answer is no object/);
    assert.ok(one.events.slice(events).every(({ instances }) => instances.length === 1));
    catalog.setServices({ web: [instance("web-1"), instance("web-2")] });
    await until(() => one.follower.away === undefined, soon("a right answer"));
  });

  it("is away as long as one question has no answer, whatever others are answered", async () => {
    const catalog = aCatalog();
    catalog.setServices({ web: [instance("web-1")] });
    await using one = following(catalog);
    await until(() => one.follower.isComplete, soon("all services"));
    catalog.setPage("/v1/catalog/services", []);
    await until(() => one.follower.away !== undefined, soon("the wrong answer"));
    catalog.setPage("/v1/health/service/web", [instance("web-2")]);
    await until(() => one.last().get("web")?.[0] === "web-2", soon("the answer to the other question"));
    assert.match(one.follower.away?.reason ?? "", /the answer is no object/);
  });

  it("fails as the receiver of its events fails", async () => {
    const catalog = aCatalog();
    catalog.setServices({ web: [instance("web-1")] });
    const one = following(catalog, () => {
      throw new TypeError("a defect");
    });
    await assert.rejects(one.ended, /a defect/);
  });

  it("asks shortly where services are more than connections", async () => {
    const catalog = aCatalog();
    const names = ["a", "b", "c", "d", "e", "f", "g"];
    catalog.setServices(Object.fromEntries(names.map((name) => [name, [instance(name)]])));
    await using one = following(catalog);
    await until(() => one.follower.isComplete, soon("all services"));
    assert.deepEqual([...one.last().keys()].sort(), names);
  });
});
