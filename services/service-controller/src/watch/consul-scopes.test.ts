/** The datacenters and namespaces of Consul that are read: stated ones once, listed ones again and again. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ConsulClient } from "@flotilla/consul";
import { delay, until } from "@flotilla/runtime";
import { ConsulScopes, type ConsulScopesOptions, scopeText } from "./consul-scopes.ts";

/** An agent whose list of datacenters is each of `lists` in turn, the last one from then on. */
function following(more: Partial<ConsulScopesOptions>, ...lists: readonly (readonly string[] | Error)[]) {
  let questions = 0;
  const ask = async () => {
    const answer = lists[Math.min(questions++, lists.length - 1)];
    if (answer instanceof Error) throw answer;
    return { body: answer, index: 0 };
  };
  const problems: (string | undefined)[] = [];
  const scopes: ConsulScopes = new ConsulScopes({
    ...{ client: { ask } as unknown as ConsulClient, datacenters: [], namespaces: [], partition: "" },
    ...{ datacentersEveryMs: 1, random: () => 0, onState: () => void problems.push(scopes.problem), ...more },
  });
  const stop = new AbortController();
  const seen: string[] = [];
  const ended = (async () => {
    for await (const list of scopes.lists(stop.signal)) seen.push(list.map(scopeText).join(" "));
  })();
  const end = async () => {
    stop.abort();
    await ended;
  };
  return { seen, problems, questions: () => questions, [Symbol.asyncDispose]: end };
}

const soon = { withinMs: 20_000, what: "the lists" };

describe("what is read of Consul", () => {
  it("is each stated datacenter by each namespace, without a question, and stays", async () => {
    await using one = following({ datacenters: ["dc1", "dc2"], namespaces: ["a", "b"], partition: "p" }, ["other"]);
    await until(() => one.seen.length > 0, soon);
    await delay(20);
    assert.deepEqual(one.seen, ["dc1/p/a dc1/p/b dc2/p/a dc2/p/b"]);
    assert.equal(one.questions(), 0);
  });
  it("is the agent's own datacenter where none is stated", async () => {
    await using one = following({}, ["own", "far"]);
    await until(() => one.seen.length > 0, soon);
    assert.deepEqual(one.seen, ["own"]);
  });
  it("is all that the agent lists where all are asked for, as they come and go", async () => {
    await using one = following({ datacenters: ["*"] }, ["own", "far"], ["own"]);
    await until(() => one.seen.length > 1, soon);
    assert.deepEqual(one.seen.slice(0, 2), ["own far", "own"]);
  });
  it("is nothing while the list cannot be read, which is a problem until it can", async () => {
    await using one = following({}, new Error("refused"), ["own"]);
    await until(() => one.problems.length > 0, soon);
    assert.deepEqual([one.problems, one.seen], [["refused"], []]);
    await until(() => one.seen.length > 0, soon);
    assert.deepEqual(one.problems, ["refused", undefined]);
  });
});
