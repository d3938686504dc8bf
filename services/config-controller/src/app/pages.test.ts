/** Conditions of sources on the readiness page: looked at while there is one that has any. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { until } from "@flotilla/runtime";
import type { ConfigSource } from "../watch/config-source.ts";
import { watchConditions } from "./pages.ts";

describe("conditions of sources", () => {
  const source = (name: string, condition?: ConfigSource["condition"]) =>
    ({ name, ...(condition && { condition }) }) as unknown as ConfigSource;
  it("are set by the source's name, with whether they block, until the service stops", async () => {
    const set: unknown[] = [];
    const stop = new AbortController();
    const setCondition = (...given: readonly unknown[]) => void set.push(given);
    const conditions = [{ detail: "away", blocks: true }, { detail: "old" }, undefined];
    const sources = [source("files"), source("cluster", (() => conditions[set.length]) as never)];
    const watching = watchConditions(sources, { setCondition } as never, stop.signal);
    await until(() => set.length >= 3, { withinMs: 20_000, what: "three looks" });
    stop.abort();
    await watching;
    assert.deepEqual(set.slice(0, 3), [
      ["cluster", "away", { blocks: true }],
      ["cluster", "old", { blocks: false }],
      ["cluster", undefined, { blocks: false }],
    ]);
  });
  it("are not looked at where no source has any", async () => {
    await watchConditions([source("files")], {} as never, new AbortController().signal);
  });
});
