/** Events of the proxies of a namespace, for callers who see no more: who is asked, how often, and what is news. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ProxyPage } from "@flotilla/console/contract";
import type { Session } from "../session/sessions.ts";
import { NoAnswer } from "../upstream/answers.fixture.ts";
import type { Answer, Question, Services } from "../upstream/services.ts";
import { EventFeed, type NumberedEvent } from "./event-feed.ts";
import { NamespaceFleets } from "./namespace-fleets.ts";

const session = (token: string, onlyNamespace?: string): Session => ({
  ...{ token, ended: new AbortController().signal },
  caller: { account: token, mayWrite: false, ...(onlyNamespace !== undefined && { onlyNamespace }) },
});

const page = (total: number, sentGeneration = 1): ProxyPage =>
  ({
    ...{ total, rows: [{ proxy: "a.shop", types: { cds: { sentGeneration } } }] },
    facets: {
      state: [
        { value: "synced", count: total - 1 },
        { value: "sending", count: 1 },
      ],
    },
  }) as unknown as ProxyPage;

/** An xds-server that answers by token. */
function aServer(answers: Record<string, ProxyPage | NoAnswer>) {
  const asked: string[] = [];
  const first = async (service: string, { token = "", path }: Question): Promise<Answer<ProxyPage>> => {
    asked.push(`${service} ${path} by ${token}`);
    const found = answers[token];
    if (found !== undefined && !(found instanceof NoAnswer)) return { isAnswered: true, value: found, replica: "a" };
    const { status, message = "", reason = "failed" } = found ?? {};
    const away = { service: "xds-server", message, reason } as const;
    return { isAnswered: false, away, ...(status !== undefined && { status }) };
  };
  return { asked, services: { first } as unknown as Pick<Services, "first"> };
}

describe("proxies of a namespace", () => {
  it("are news when their number or state changes, or when they are sent something", async () => {
    const answers: Record<string, ProxyPage> = { ann: page(2) };
    const fleets = new NamespaceFleets(aServer(answers).services);
    const poll = (nowMs: number) => fleets.poll([session("ann", "shop")], nowMs);
    assert.deepEqual(await poll(0), [], "the first answer");
    assert.deepEqual(await poll(5_000), [], "the same answer");
    answers["ann"] = page(3);
    const byState = { synced: 2, sending: 1, rejected: 0 };
    assert.deepEqual(await poll(10_000), [{ namespace: "shop", data: { total: 3, byState } }]);
    answers["ann"] = page(3, 2);
    assert.equal((await poll(15_000)).length, 1);
  });

  it("are asked for once for all who listen there, every five seconds at most, and not for those who see the mesh", async () => {
    const { asked, services } = aServer({ ann: page(2), bob: page(2), tom: page(1) });
    const fleets = new NamespaceFleets(services);
    const all = [session("ann", "shop"), session("bob", "shop"), session("tom", "bank"), session("root")];
    for (const nowMs of [0, 1_000, 4_999]) await fleets.poll(all, nowMs);
    assert.deepEqual(asked.splice(0), ["xds-server /debug/fleet by ann", "xds-server /debug/fleet by tom"]);
    await fleets.poll(all, 5_000);
    assert.equal(asked.length, 2);
  });

  it("are asked for with the next token where one is refused, and not again where no answer comes", async () => {
    const answers: Record<string, ProxyPage | NoAnswer> = { old: new NoAnswer("ended", 401), ann: page(2) };
    const { asked, services } = aServer(answers);
    const fleets = new NamespaceFleets(services);
    const all = [session("old", "shop"), session("ann", "shop")];
    await fleets.poll(all, 0);
    assert.equal(asked.splice(0).length, 2);
    answers["old"] = new NoAnswer("gone");
    assert.deepEqual(await fleets.poll(all, 5_000), []);
    assert.equal(asked.length, 1);
  });

  it("are no news for one who comes after a pause without listeners", async () => {
    const answers: Record<string, ProxyPage> = { ann: page(2) };
    const fleets = new NamespaceFleets(aServer(answers).services);
    await fleets.poll([session("ann", "shop")], 0);
    await fleets.poll([], 5_000);
    answers["ann"] = page(9);
    assert.deepEqual(await fleets.poll([session("ann", "shop")], 10_000), []);
  });

  it("come to callers of the namespace alone, though no caller who sees the mesh listens", async () => {
    const answers: Record<string, ProxyPage> = { ann: page(2), tom: page(1) };
    const replicas = { list: () => [], onChange: () => () => undefined };
    const feed = new EventFeed({ services: aServer(answers).services, replicas, onEvent: () => undefined });
    const listen = (of: Session) => {
      const got: NumberedEvent[] = [];
      feed.listen({ session: of, take: (event) => got.push(event) }, undefined);
      return () => got.map(({ event }) => event.type);
    };
    const [shop, bank] = [listen(session("ann", "shop")), listen(session("tom", "bank"))];
    await feed.poll(0);
    answers["ann"] = page(3);
    await feed.poll(5_000);
    assert.deepEqual([shop(), bank()], [["hello", "fleet"], ["hello"]]);
  });
});
