/** Words that are found, and words that are not. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { flaggedWords, questionOpenings } from "./flagged-words.ts";

const cases: readonly { readonly name: string; readonly text: string; readonly found: readonly string[] }[] = [
  { name: "plain text", text: "const slice = new TimeSlice();", found: [] },
  { name: "a name", text: "import { Breather } from 'x';", found: ["1 Breather"] },
  { name: "a word of a comment, on its line", text: "const a = 1;\n// retried patiently", found: ["2 patiently"] },
  {
    name: "a time limit that may never fire",
    text: "AbortSignal.any([stop, AbortSignal.timeout(5)])",
    found: ["1 AbortSignal.any([stop, AbortSignal.timeout"],
  },
  { name: "a part of another word", text: "const webbing = 1;", found: [] },
  { name: "a pronoun for a missing caller", text: "// asked for by nobody", found: ["1 nobody"] },
  { name: "the user of that name", text: 'runAs("nobody")', found: [] },
  { name: "a package that knows", text: "a package knows its users", found: ["1 package knows"] },
  { name: "a relative clause as a subject", text: "Done. What is refused is logged.", found: ["1 . What is"] },
  { name: "a question", text: "What is a view?", found: [] },
  { name: "two on a line", text: "// the ebb, an occasion", found: ["1 ebb", "1 occasion"] },
];

describe("flagged words", () => {
  for (const { name, text, found } of cases)
    it(name, () =>
      assert.deepEqual(
        flaggedWords(text).map((one) => `${one.line} ${one.text}`),
        found,
      ),
    );
});

describe("openings of comments", () => {
  const openingCases: readonly { readonly name: string; readonly text: string; readonly found: readonly string[] }[] = [
    { name: "a thing", text: "/** Names of proxies. */", found: [] },
    { name: "a question's word", text: "a();\n/** What proxies have. */", found: ["2 What"] },
    { name: "in the second line of a block", text: "/**\n * Whether it is so.\n */", found: ["2 Whether"] },
    { name: "a later line of a block", text: "/**\n * Names of proxies, and\n * What they mean.\n */", found: [] },
    { name: "a line comment", text: "const a = 1;\n  // Which is so.", found: ["2 Which"] },
    { name: "a later line of a line comment", text: "  // So it is.\n  // Which is so.", found: [] },
    { name: "a word that begins alike", text: "// Whole files.", found: [] },
  ];
  for (const { name, text, found } of openingCases)
    it(name, () =>
      assert.deepEqual(
        questionOpenings(text).map((one) => `${one.line} ${one.text}`),
        found,
      ),
    );
});
