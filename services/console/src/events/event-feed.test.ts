/** One poll for all listeners: whom it asks, what each gets, and what one who comes back has missed. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { until } from "@flotilla/runtime";
import type { Session } from "../session/sessions.ts";
import { NoAnswer } from "../upstream/answers.fixture.ts";
import type { Answer, Question, Services } from "../upstream/services.ts";
import type { WatchedReplica } from "../watch/replica-watch.ts";
import { EventFeed, type NumberedEvent } from "./event-feed.ts";
import type { Recent } from "./recent.ts";

const recent = (generation: number, more: Partial<Recent> = {}): Recent => ({
  ...{ generation, rejections: [], rejectionCount: 0, arrivals: [] },
  generations: [
    { generation, at: "", by: "ann", changes: 1, objects: [{ object: "VirtualService/shop/a", op: "changed" }] },
  ],
  fleet: { total: 1, synced: 1, sending: 0, rejected: 0 },
  ...more,
});
const session = (token: string, onlyNamespace?: string): Session => ({
  ...{ token, ended: new AbortController().signal },
  caller: { account: token, mayWrite: false, ...(onlyNamespace !== undefined && { onlyNamespace }) },
});
const replica = { service: "ca", replica: "a", state: "ready", detail: "" } as unknown as WatchedReplica;

/** A feed whose config-controller answers by token. */
function aFeed(answers: Record<string, Recent | NoAnswer>) {
  const asked: string[] = [];
  const published: string[] = [];
  const replicas = {
    list: () => [replica],
    onChange: (listener: (changed: readonly WatchedReplica[]) => void) => {
      onChange = listener;
      return () => {
        onChange = undefined;
      };
    },
  };
  let onChange: ((changed: readonly WatchedReplica[]) => void) | undefined;
  const first = async (_: string, { token = "", path }: Question): Promise<Answer<Recent>> => {
    asked.push(`${path} by ${token}`);
    const found = answers[token];
    if (found !== undefined && !(found instanceof NoAnswer)) return { isAnswered: true, value: found, replica: "a" };
    const { status, message = "", reason = "failed" } = found ?? {};
    const away = { service: "config-controller", message, reason } as const;
    return { isAnswered: false, away, ...(status !== undefined && { status }) };
  };
  const feed = new EventFeed({
    services: { first } as unknown as Pick<Services, "first">,
    replicas,
    onEvent: ({ type }) => published.push(type),
  });
  const listen = (of: Session, lastId?: number) => {
    const got: NumberedEvent[] = [];
    const end = feed.listen({ session: of, take: (event) => got.push(event) }, lastId);
    return { got, end, types: () => got.map(({ event }) => event.type) };
  };
  return {
    feed,
    answers,
    asked,
    published,
    listen,
    change: (all: readonly WatchedReplica[]) => onChange?.(all),
    isWatched: () => onChange !== undefined,
  };
}

describe("the feed of events", () => {
  it("greets after a first look with what is so, then has what is new", async () => {
    const { feed, answers, listen, published } = aFeed({ ann: recent(7, { rejectionCount: 3 }) });
    const { got, types } = listen(session("ann"));
    assert.deepEqual([got, feed.listeners], [[], 1]);
    await feed.poll(0);
    const services = [{ service: "ca", replica: "a", state: "ready" }];
    assert.deepEqual(
      got.map(({ event }) => event),
      [{ type: "hello", data: { services, rejections: 3, generation: 7 } }],
    );
    answers["ann"] = recent(8);
    await feed.poll(1);
    assert.deepEqual(types(), ["hello", "generation", ...types().slice(2)]);
    assert.ok(published.includes("generation") && !published.includes("hello"));
    const ids = got.map(({ id }) => id);
    assert.deepEqual(
      ids,
      ids.toSorted((a, b) => a - b),
    );
    assert.equal((ids[1] ?? 0) - (ids[0] ?? 0), 1);
  });

  it("greets who comes later at once, and not with rejections of other namespaces", async () => {
    const { feed, listen } = aFeed({ ann: recent(7, { rejectionCount: 3 }) });
    listen(session("ann"));
    await feed.poll(0);
    const { got } = listen(session("bob", "shop"));
    assert.deepEqual(
      got.map(({ event }) => event.type === "hello" && event.data.rejections),
      [0],
    );
  });

  it("greets without a generation without a listener who may see all", async () => {
    const { feed, listen, asked } = aFeed({});
    const { got } = listen(session("bob", "shop"));
    await feed.poll(0);
    assert.deepEqual([asked, got.map(({ event }) => "generation" in event.data)], [["/debug/fleet by bob"], [false]]);
  });

  it("asks with the next token where one is refused, once each, and not without an answer", async () => {
    const { feed, listen, asked, answers } = aFeed({ old: new NoAnswer("ended", 403), ann: recent(7) });
    for (const token of ["old", "old", "ann", "late"]) listen(session(token));
    await feed.poll(0);
    assert.deepEqual(asked.splice(0), ["/debug/recent by old", "/debug/recent by ann"]);
    answers["old"] = new NoAnswer("gone");
    await feed.poll(1);
    assert.deepEqual(asked, ["/debug/recent by old"]);
  });

  it("has no news of a look that failed, nor of what happened before", async () => {
    const { feed, listen, answers } = aFeed({ ann: recent(7) });
    const { types } = listen(session("ann"));
    await feed.poll(0);
    answers["ann"] = new NoAnswer("gone");
    await feed.poll(1);
    answers["ann"] = recent(7);
    await feed.poll(2);
    assert.deepEqual(types(), ["hello"]);
  });

  it("has counts of the fleet every two seconds at most", async () => {
    const { feed, listen, answers } = aFeed({ ann: recent(7) });
    const { got } = listen(session("ann"));
    const counts = () => got.flatMap(({ event }) => (event.type === "fleet" ? [event.data.total] : []));
    await feed.poll(0);
    for (const [nowMs, total] of [
      [10, 2],
      [500, 3],
      [2_009, 4],
      [2_010, 5],
      [2_100, 6],
    ] as const) {
      answers["ann"] = recent(7, { fleet: { total, synced: 0, sending: 0, rejected: 0 } });
      await feed.poll(nowMs);
    }
    assert.deepEqual(counts(), [2, 5]);
  });

  it("cuts events to what a caller may see", async () => {
    const { feed, listen, answers } = aFeed({ ann: recent(7) });
    listen(session("ann"));
    const [shop, bank] = [listen(session("s", "shop")), listen(session("b", "bank"))];
    await feed.poll(0);
    answers["ann"] = recent(8);
    await feed.poll(1);
    assert.equal(shop.types().includes("generation"), true);
    assert.deepEqual(
      bank.got.filter(({ event }) => JSON.stringify(event).includes("VirtualService/shop/a")),
      [],
    );
  });

  it("has no listener any more who left", async () => {
    const { feed, listen, answers } = aFeed({ ann: recent(7) });
    const [stays, leaves, early] = [listen(session("ann")), listen(session("ann")), listen(session("ann"))];
    early.end();
    await feed.poll(0);
    leaves.end();
    answers["ann"] = recent(8);
    await feed.poll(1);
    assert.deepEqual([early.got.length, leaves.got.length, stays.got.length > 1, feed.listeners], [0, 1, true, 1]);
  });
});

describe("one who comes back", () => {
  /** Three generations were new. */
  const withHistory = async () => {
    const parts = aFeed({ ann: recent(7) });
    const { got } = parts.listen(session("ann"));
    for (let n = 0; n < 4; n++) {
      parts.answers["ann"] = recent(7 + n);
      await parts.feed.poll(0);
    }
    return { ...parts, ids: got.map(({ id }) => id), types: got.map(({ event }) => event.type) };
  };

  it("gets what it has missed, after a greeting", async () => {
    const { listen, ids, types } = await withHistory();
    const at = types.lastIndexOf("generation") - 1;
    const back = listen(session("ann"), ids[at]);
    assert.deepEqual(
      back.got.slice(1).map(({ id }) => id),
      ids.slice(at + 1),
    );
    assert.equal(back.types()[0], "hello");
  });

  it("gets all of what is kept, or nothing but the greeting where it missed nothing", async () => {
    const { listen, ids } = await withHistory();
    assert.deepEqual(listen(session("ann"), ids[0]).got.length, ids.length);
    assert.deepEqual(listen(session("ann"), ids.at(-1)).types(), ["hello"]);
    assert.deepEqual(listen(session("ann")).types(), ["hello"]);
  });

  it("is asked to read everything where what it missed is not kept, or is of another time", async () => {
    const { listen, ids } = await withHistory();
    for (const id of [(ids[0] ?? 0) - 1, (ids.at(-1) ?? 0) + 1, 1])
      assert.deepEqual(listen(session("ann"), id).types(), ["hello", "resync"]);
  });
});

describe("the feed while it runs", () => {
  it("asks no service without listeners, reports replicas that change, and begins anew", async () => {
    const { feed, asked, listen, change, isWatched } = aFeed({ ann: recent(7) });
    const stop = new AbortController();
    const running = feed.run(stop.signal);
    await until(() => isWatched(), { withinMs: 60_000, what: "the feed to run" });
    assert.deepEqual(asked, []);
    const { got, end } = listen(session("ann"));
    await until(() => got.length > 0, { withinMs: 60_000, what: "the greeting" });
    change([{ ...replica, state: "away" }]);
    assert.deepEqual(got.at(-1)?.event, {
      type: "services",
      data: { services: [{ service: "ca", replica: "a", state: "away" }] },
    });
    end();
    stop.abort();
    await running;
    assert.equal(isWatched(), false);
  });
});
