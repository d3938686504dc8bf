/** The same values as the YAML library's, whole or by parts, and the same errors. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { parse } from "yaml";
import { createFragmentParser } from "./fragment-parser.ts";

const good: readonly (readonly [string, string])[] = [
  ["mappings within mappings", "a:\n  bcd: 1\n  efg:\n    hij: x\nklm: y\n"],
  ["sequences, indented and not", "one:\n- a\n- b\ntwo:\n  - name: c\n    value: 1\n  - name: d\n"],
  ["sequences within sequences", "one:\n  - - a\n    - b\n  - - c\n"],
  ["a sequence of one mapping", "one:\n  - name: a\n    env:\n      - name: b\n"],
  [
    "brackets over lines, closed at the indentation of their field",
    'meta:\n  notes: {\n    a.b/c: "x",\n  }\n  labels:\n    app: a\n',
  ],
  ["lines in brackets that look like entries", "one: [\n  two,\n  three\n]\nfour: {five: 1,\n  six: 2}\n"],
  ["texts in quotes over lines", 'one: "a\n  two: b"\nthree: c\n'],
  ["texts in quotes over lines at the indentation of entries", "one: 'a\n\n  two: b'\nthree: c\n"],
  ["block texts", "one: |\n  two: x\n  - three\n\nfour: >-\n  five\n  six\nseven: 1\n"],
  [
    "block texts in items",
    'list:\n  - name: a\n    value: |-\n      [\n      {"b":1}\n      ]\n  - name: b\n    value: |\n             {}\n',
  ],
  ["comments and empty lines", "# one\none:\n\n  # two\n  two: 1\n# three\n  three: 2 # four\n\n"],
  ["texts over lines without quotes", "one: a\n  b\n  c\ntwo: d\n"],
  ["anchors and aliases", "one: &a\n  two: 1\nthree: *a\nfour:\n  <<: *a\n  five: 2\n"],
  ["keys in quotes", '"one two": 1\n"three.four/five":\n  six: 2\n'],
  ["keys that are no texts", "one:\n  1: a\n  true: b\n  null: c\n  .inf: d\n"],
  ["keys of an object's own", "__proto__:\n  one: 1\nconstructor: x\n"],
  ["keys with a question mark", "? one\n: two\nthree: 4\n"],
  ["numbers and truth values", "one: 1.5\ntwo: 0x1f\nthree: false\nfour: 1_000\nfive: .inf\n"],
  ["one scalar", "just text\n"],
  ["a document with a mark", "---\none: 1\n"],
  ["tags", "one: !!str 1\ntwo: 2\n"],
  ["carriage returns", "one:\r\n  two: 1\r\n"],
];

describe("YAML by parts", () => {
  for (const [name, text] of good)
    it(`is what the library makes of ${name}`, () => {
      const parseYaml = createFragmentParser();
      const want = parse(text, { merge: true });
      assert.deepEqual(parseYaml(text), withoutNulls(want));
      // From what is known now.
      assert.deepEqual(parseYaml(text), withoutNulls(want));
    });

  it("is what the library makes of the built-in templates' files", () => {
    const text = readFileSync(new URL("../package.json", import.meta.url), "utf8");
    assert.deepEqual(createFragmentParser()(text), JSON.parse(text));
  });

  for (const text of [
    "one: [\n",
    "one: 'a\n",
    "one:\n  two: 1\n three: 2\n",
    "one: *two\n",
    "a: 1\n- b\n",
    "\tone: 1\n",
  ])
    it(`refuses ${JSON.stringify(text)} as the library does`, () => {
      const [reason] = messageOf(() => parse(text, { merge: true })).split("\n");
      assert.equal(messageOf(() => createFragmentParser()(text)).split("\n")[0], reason);
    });

  it("takes the last one of a repeated key", () => {
    const parseYaml = createFragmentParser();
    assert.deepEqual(parseYaml("one:\n  two: 1\n  two: 2\nthree: [{four: 1, four: 2}]\n"), {
      ...{ one: { two: 2 }, three: [{ four: 2 }] },
    });
  });

  it("reads scalars of YAML 1.1, and leaves out fields without a value", () => {
    const text = "mode: 0644\nother: -017\non: yes\nno: Off\nnone:\nlist: [null]\ntext: '0644'\n";
    assert.deepEqual(createFragmentParser()(text), {
      ...{ mode: 420, other: -15, true: true, false: false, list: [null], text: "0644" },
    });
  });

  it("gives frozen values", () => {
    const value = createFragmentParser()("one:\n  two: [1]\n") as { one: { two: number[] } };
    assert.throws(() => value.one.two.push(2), TypeError);
  });
});

function messageOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    return (error as Error).message;
  }
  return assert.fail("no error");
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== "object" || value === null) return value;
  const parts = Object.entries(value).filter(([, part]) => part !== null);
  return Object.fromEntries(parts.map(([key, part]) => [key, withoutNulls(part)]));
}
