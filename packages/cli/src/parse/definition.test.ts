/** Sentences of options, as the pages of the command line show them. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { type OptionSpec, optionText } from "./definition.ts";

const option = (more: Partial<OptionSpec<unknown>>): OptionSpec<unknown> => ({
  ...{ flags: "--a <A>", help: "an option", initial: undefined },
  ...more,
});
const cases: readonly (readonly [name: string, given: Partial<OptionSpec<unknown>>, text: string])[] = [
  ["alone", {}, "an option"],
  ["with a text as its default", { initial: "b" }, "an option (default b)"],
  ["with a number as its default", { initial: 0 }, "an option (default 0)"],
  ["with a list as its default, which is not shown", { initial: [] }, "an option"],
  ["with a flag's default, which is not shown", { initial: false }, "an option"],
  ["with its default in words", { initial: [], initialText: "all of them" }, "an option (default all of them)"],
  ["with words rather than its value", { initial: 300, initialText: "5m" }, "an option (default 5m)"],
  ["with its choices", { choices: ["b", "c"] }, "an option (b, c)"],
  ["with all there is", { choices: ["b", "c"], initial: "b", env: "A" }, "an option (b, c; default b; environment A)"],
];
for (const [name, given, text] of cases)
  it(`an option ${name}`, () => {
    assert.equal(optionText(option(given)), text);
  });
