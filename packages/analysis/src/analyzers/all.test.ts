/** Declarations of analyzers: an analyzer is run on objects of the kinds it names, and objects of the kinds it reads are kept for it. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { messages } from "../messages/messages.ts";
import { configurationAnalyzers, createAnalyzers } from "./all.ts";

describe("analyzers", () => {
  const all = createAnalyzers();

  it("have names of their own, in order", () => {
    const names = all.map(({ name }) => name);
    assert.deepEqual(names, [...new Set(names)].sort());
  });

  for (const { name, summary, messages: reported, checks, reads } of all)
    it(`${name} names the kinds that it checks and reads, and messages that there are`, () => {
      assert.ok(checks.length > 0 && reported.length > 0 && summary !== "");
      for (const kind of [...checks, ...reads]) assert.match(String(kind), /^[A-Z]\w+$/);
      for (const message of reported) assert.ok(message in messages, message);
    });

  it("of configuration alone are some of them, and more with what else is known", () => {
    const names = (of: readonly { readonly name: string }[]) => of.map(({ name }) => name);
    const alone = names(configurationAnalyzers());
    assert.ok(alone.length > 0 && alone.length < all.length);
    for (const name of alone) assert.ok(names(all).includes(name), name);
    const more = names(configurationAnalyzers("Service"));
    assert.ok(more.length > alone.length && alone.every((name) => more.includes(name)));
  });
});
