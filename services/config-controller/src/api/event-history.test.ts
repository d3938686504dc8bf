import assert from "node:assert/strict";
import { it } from "node:test";
import { openTestApi, root, virtualService } from "./api.fixture.ts";
import { EventHistory } from "./event-history.ts";

it("a listener that has ended, and a history that has, hear of nothing more", async () => {
  await using api = await openTestApi();
  const history = new EventHistory(api.durable, 10);
  const [first, second]: [string[], string[]] = [[], []];
  const end = history.onEvents((events) =>
    first.push(...events.map(({ type, config }) => `${type} ${config.key.name}`)),
  );
  history.onEvents((events) => second.push(...events.map(({ type, config }) => `${type} ${config.key.name}`)));
  const collection = `${root}/virtualservices`;
  await api.call("POST", collection, virtualService("a", "a"));
  end();
  await api.call("DELETE", `${collection}/a`);
  history[Symbol.dispose]();
  await api.call("POST", collection, virtualService("b", "b"));
  assert.deepEqual([first, second], [["ADDED a"], ["ADDED a", "DELETED a"]]);
  assert.deepEqual(
    history.after(0)?.map(({ version, type }) => `${version} ${type}`),
    ["1 ADDED", "2 DELETED"],
  );
});
