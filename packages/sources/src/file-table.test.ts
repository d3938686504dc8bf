import assert from "node:assert/strict";
import { test } from "node:test";
import { FileTable } from "./directory-source.ts";
import { type Admission, readObjects, unreadableFile } from "./read-objects.ts";
import type { SourceChange } from "./source.ts";

const admission: Admission = {
  kindOf: (_, kind) =>
    kind === "Rule" || kind === "Other"
      ? { namespaced: true, wanted: kind === "Rule" }
      : kind === "Zone"
        ? { namespaced: false, wanted: true }
        : undefined,
  check: (object) => (object["spec"] === "bad" ? [{ field: "spec", reason: "is bad" }] : []),
};

function rule(name: string, spec: string, kind = "Rule"): string {
  return `apiVersion: x/v1\nkind: ${kind}\nmetadata: {name: ${name}, namespace: n}\nspec: ${spec}\n`;
}

/** Applies texts by file and gives the changes in short: `+name=spec` and `-name`. */
function apply(table: FileTable, texts: Readonly<Record<string, string | undefined>>): readonly string[] {
  const readings = Object.entries(texts).map(
    ([file, text]) => [file, text === undefined ? undefined : readObjects(file, text, admission)] as const,
  );
  return table.update(new Map(readings)).map(short).sort();
}

function short(change: SourceChange): string {
  return change.op === "put" ? `+${change.key.name}=${change.object["spec"]}` : `-${change.key.name}`;
}

function problems(table: FileTable): readonly string[] {
  return table
    .problems()
    .map(({ file, line, object, field, reason }) =>
      [`${file}:${line}`, object, field, reason].filter(Boolean).join(" "),
    );
}

test("changes of a file are its differences from before", () => {
  const table = new FileTable();
  assert.deepEqual(apply(table, { a: `${rule("x", "1")}---\n${rule("y", "1")}` }), ["+x=1", "+y=1"]);
  assert.deepEqual(apply(table, { a: `${rule("y", "1")}---\n${rule("x", "2")}---\n${rule("z", "1")}` }), [
    "+x=2",
    // It stands in another line.
    "+y=1",
    "+z=1",
  ]);
  assert.deepEqual(apply(table, { a: rule("z", "1") }), ["+z=1", "-x", "-y"]);
  assert.deepEqual(apply(table, { a: undefined }), ["-z"]);
});

test("an object that moves is reported with its new place, in its file and to another one", () => {
  const table = new FileTable();
  const places = (texts: Readonly<Record<string, string | undefined>>) =>
    table
      .update(
        new Map(
          Object.entries(texts).map(([file, text]) => [
            file,
            text === undefined ? undefined : readObjects(file, text, admission),
          ]),
        ),
      )
      .map((change) => (change.op === "put" ? `${change.key.name} ${change.provenance?.location}` : change.op));
  assert.deepEqual(places({ a: rule("x", "1") }), ["x a:1"]);
  assert.deepEqual(places({ a: rule("x", "1") }), []);
  assert.deepEqual(places({ a: `# moved\n${rule("x", "1")}` }), ["x a:2"]);
  assert.deepEqual(places({ a: undefined, b: rule("x", "1") }), ["x b:1"]);
});

test("items of a list are reported with their own lines", () => {
  const table = new FileTable();
  const items = ["x", "y"].map((name) => `- ${rule(name, "bad").trimEnd().replaceAll("\n", "\n  ")}\n`).join("");
  apply(table, { a: `apiVersion: v1\nkind: List\nitems:\n${items}` });
  assert.deepEqual(problems(table), ["a:4 Rule/n/x spec is bad", "a:8 Rule/n/y spec is bad"]);
});

test("a syntax error keeps all of the file's objects and says where it is", () => {
  const table = new FileTable();
  apply(table, { a: rule("x", "1"), b: rule("y", "1") });
  assert.deepEqual(apply(table, { a: "a: [", b: rule("y", "2") }), ["+y=2"]);
  assert.equal(table.problems()[0]?.file, "a");
  assert.deepEqual(apply(table, { a: rule("x", "2") }), ["+x=2"]);
  assert.deepEqual(problems(table), []);
});

test("a syntax error in one document refuses that one: the others count, and nothing in force is lost", () => {
  const table = new FileTable();
  const broken = "apiVersion: x/v1\nkind: Rule\nmetadata: {name: z}\nspec: [*.example.com]\n";
  assert.deepEqual(apply(table, { a: `${rule("x", "1")}---\n${broken}---\n${rule("y", "1")}` }), ["+x=1", "+y=1"]);
  assert.match(problems(table).join(), /^a:9 Unresolved alias/);
  assert.deepEqual(apply(table, { a: `${rule("x", "2")}---\n${broken}` }), ["+x=2"], "y may be the broken one");
  assert.deepEqual(apply(table, { a: rule("x", "2") }), ["-y"]);
});

test("a check that throws refuses its object alone", () => {
  const table = new FileTable();
  const failing: Admission = {
    ...admission,
    check: (object) => {
      if (object.metadata.name === "x") throw new TypeError("spec is not iterable");
      return [];
    },
  };
  const text = `${rule("x", "1")}---\n${rule("y", "1")}`;
  assert.deepEqual(table.update(new Map([["a", readObjects("a", text, failing)]])).map(short), ["+y=1"]);
  assert.deepEqual(problems(table), ["a:1 Rule/n/x cannot be checked: spec is not iterable"]);
});

test("a file that cannot be read keeps its objects", () => {
  const table = new FileTable();
  apply(table, { a: rule("x", "1") });
  assert.deepEqual(table.update(new Map([["a", unreadableFile("a", "EACCES")]])), []);
  assert.deepEqual(problems(table), ["a:0 EACCES"]);
});

test("a refused object keeps its last good version, the others of the file go on", () => {
  const table = new FileTable();
  apply(table, { a: `${rule("x", "1")}---\n${rule("y", "1")}` });
  assert.deepEqual(apply(table, { a: `${rule("x", "bad")}---\n${rule("y", "2")}` }), ["+y=2"]);
  assert.deepEqual(problems(table), ["a:1 Rule/n/x spec is bad"]);
  assert.deepEqual(apply(table, { a: rule("y", "2") }), ["+y=2", "-x"], "y stands in another line");
});

test("an object whose kind or name is spoiled keeps its last good version", () => {
  const table = new FileTable();
  apply(table, { a: `${rule("x", "1")}---\n${rule("y", "1")}` });
  assert.deepEqual(apply(table, { a: `${rule("x", "2", "Rulle")}---\n${rule("y", "1").replace("y", '""')}` }), []);
  assert.deepEqual(problems(table), [
    "a:1 kind x/v1 Rulle is no kind that is known here",
    "a:6 metadata.name is missing",
  ]);
});

test("an object that was never good is not there", () => {
  const table = new FileTable();
  assert.deepEqual(apply(table, { a: rule("x", "bad") }), []);
  assert.deepEqual(apply(table, { a: rule("x", "1") }), ["+x=1"]);
});

test("of two files with one object the first keeps it until it lets go", () => {
  const table = new FileTable();
  apply(table, { b: rule("x", "1") });
  assert.deepEqual(apply(table, { a: rule("x", "2") }), []);
  assert.deepEqual(problems(table), ["a:1 Rule/n/x is in b:1 already"]);
  assert.deepEqual(apply(table, { b: undefined }), ["+x=2"]);
  assert.deepEqual(problems(table), []);
});

test("at once, the file that is first by name wins, and an object may move between files", () => {
  const table = new FileTable();
  assert.deepEqual(apply(table, { b: rule("x", "2"), a: rule("x", "1") }), ["+x=1"]);
  assert.deepEqual(apply(table, { b: undefined }), []);
  assert.deepEqual(apply(table, { a: undefined, c: rule("x", "1") }), ["+x=1"], "in its new place");
});

test("the second of the same object within a file is refused", () => {
  const table = new FileTable();
  assert.deepEqual(apply(table, { a: `${rule("x", "1")}---\n${rule("x", "2")}` }), ["+x=1"]);
  assert.deepEqual(problems(table), ["a:6 Rule/n/x is in line 1 of the file already"]);
});

test("lists stand for their items, cluster kinds have no namespace, others have the default one", () => {
  const table = new FileTable();
  const text =
    "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: x/v1, kind: Zone, metadata: {name: z, namespace: n}}\n- {apiVersion: x/v1, kind: Rule, metadata: {name: r}}\n";
  const changes = table.update(new Map([["a", readObjects("a", text, admission)]]));
  assert.deepEqual(
    changes.map(({ key }) => `${key.kind}/${key.namespace}/${key.name}`),
    ["Zone//z", "Rule/default/r"],
  );
});

const refusals: readonly { name: string; text: string; expected: readonly string[] }[] = [
  { name: "a plain value", text: "just text", expected: ["a:1 is no object but a plain value or a list"] },
  { name: "no apiVersion", text: "kind: Rule", expected: ["a:1 apiVersion is missing"] },
  { name: "no kind", text: "apiVersion: x/v1", expected: ["a:1 kind is missing"] },
  { name: "no metadata", text: "apiVersion: x/v1\nkind: Rule", expected: ["a:1 metadata is missing"] },
  ...[
    ["a mapping as name", "{name: {toString: x}}", "name is no text; put it in quotes"],
    ["a name with a slash", "{name: a/b}", 'name must not contain "/"'],
    ["a name of 254 characters", `{name: ${"a".repeat(254)}}`, "name has 254 characters, 253 are allowed"],
    ["a name that is a directory", "{name: ..}", 'name must not be ".."'],
    ["a namespace with a slash", "{name: a, namespace: b/c}", 'namespace must not contain "/"'],
    [
      "a namespace of 64 characters",
      `{name: a, namespace: ${"b".repeat(64)}}`,
      "namespace has 64 characters, 63 are allowed",
    ],
  ].map(([name = "", metadata = "", reason = ""]) => ({
    name,
    text: `apiVersion: x/v1\nkind: Rule\nmetadata: ${metadata}`,
    expected: [`a:1 metadata.${reason}`],
  })),
  {
    name: "a label that is a number",
    text: "apiVersion: x/v1\nkind: Rule\nmetadata: {name: x, labels: {v: 1}}",
    expected: ["a:1 Rule/default/x metadata.labels has a value that is no text; put it in quotes"],
  },
  { name: "a kind of no use here", text: rule("x", "1", "Other"), expected: [] },
];

for (const { name, text, expected } of refusals) {
  test(`refused: ${name}`, () => {
    const table = new FileTable();
    assert.deepEqual(apply(table, { a: text }), []);
    assert.deepEqual(problems(table), expected);
  });
}

test("a reading that takes objects away is known for it", () => {
  const table = new FileTable();
  apply(table, { a: `${rule("x", "1")}---\n${rule("y", "1")}` });
  const reading = (text: string) => readObjects("a", text, admission);
  assert.equal(table.loses("a", reading(rule("x", "2"))), true);
  assert.equal(table.loses("a", reading("a: [")), true);
  assert.equal(table.loses("a", undefined), true);
  assert.equal(table.loses("a", reading(`${rule("x", "2")}---\n${rule("y", "2")}`)), false);
  assert.equal(table.loses("b", reading(rule("z", "1"))), false);
});
