import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { changelog, parseNote, readNotes } from "./changelog.ts";

const note = (kind: string, area: string, text: string) => `kind: ${kind}\narea: ${area}\n\n${text}\n`;

describe("the changelog", () => {
  it("has what may need something first, then features and fixes by area", () => {
    const notes = [
      parseNote("b.md", note("fix", "webhook", "A fix.")),
      parseNote("a.md", note("feature", "webhook", "One\ntwo.\n\nThree.")),
      parseNote("c.md", note("feature", "ca", "Of ca.")),
      parseNote("d.md", note("change", "ca", "Do this.")),
    ];
    assert.equal(
      changelog("1.2.3", notes),
      `# Flotilla 1.2.3

## Changes that may need something from you

- **ca**: Do this.

## Features

- **ca**: Of ca.

- **webhook**: One
  two.

  Three.

## Fixes

- **webhook**: A fix.
`,
    );
  });

  const wrong = [
    {
      name: "a kind that is none",
      source: note("bug", "ca", "x"),
      message: /^n\.md: kind "bug" is none of change, feature/,
    },
    { name: "no area", source: "kind: fix\n\nx\n", message: /^n\.md: no area$/ },
    { name: "no text", source: note("fix", "ca", ""), message: /^n\.md: no text$/ },
  ];
  for (const { name, source, message } of wrong)
    it(`refuses ${name}, with the file`, () => assert.throws(() => parseNote("n.md", source), { message }));

  it("reads every note of the repository", () => {
    const notes = readNotes(`${import.meta.dirname}/../../changes`);
    assert.ok(notes.length > 100, `${notes.length}`);
  });
});
