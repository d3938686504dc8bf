/** Suggestions of the YAML editor: `|` is the caret. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Completion, completionsAt, type FieldSchema, type KnownKinds } from "./completion.ts";
import { yamlPlace } from "./yaml-place.ts";

const networking = "networking.istio.io/v1";
const row = (kind: string, name: string, apiVersion: string) => ({ kind, name, apiVersion, isNamespaced: true });
const destination: FieldSchema = {
  type: "object",
  required: ["host"],
  properties: { subset: { type: "string" }, host: { type: "string", description: "A host name." } },
};
const known: KnownKinds = {
  kinds: [
    row("VirtualService", "VirtualService", networking),
    row("Gateway", "Gateway", networking),
    row("Gateway", "KubernetesGateway", "gateway.networking.k8s.io/v1"),
  ],
  schemas: new Map<string, FieldSchema>([
    [
      "VirtualService",
      {
        properties: {
          apiVersion: { enum: [networking, "networking.istio.io/v1beta1"] },
          kind: { const: "VirtualService" },
          metadata: { type: "object", properties: { name: { type: "string" }, namespace: { type: "string" } } },
          spec: {
            type: "object",
            properties: {
              hosts: { type: "array", items: { type: "string" } },
              http: {
                type: "array",
                items: {
                  type: "object",
                  properties: {
                    timeout: { type: "string" },
                    route: { type: "array", items: { type: "object", properties: { destination } } },
                    headers: { type: "object", additionalProperties: destination },
                    mirrorAll: { type: ["boolean", "null"], default: false },
                  },
                },
              },
              mode: { type: "string", enum: ["STRICT", "true", "*.x"] },
              methods: { type: "array", items: { type: "string", enum: ["GET", "PUT"] } },
            },
          },
        },
      },
    ],
    ["KubernetesGateway", { properties: { spec: { type: "object", properties: { listeners: { type: "array" } } } } }],
  ]),
};

const head = `apiVersion: ${networking}\nkind: VirtualService\n`;

function complete(marked: string) {
  const caret = marked.indexOf("|");
  return completionsAt(marked.replace("|", ""), caret, known);
}
const labels = (marked: string): string => (complete(marked)?.items ?? []).map(({ label }) => label).join(" ");
const first = (marked: string): Completion | undefined => complete(marked)?.items[0];

const places = [
  { name: "fields of the object that are missing", text: `${head}|`, expected: "metadata spec" },
  { name: "fields of a mapping", text: `${head}spec:\n  |`, expected: "hosts http mode methods" },
  {
    name: "fields that hold what is typed, those that begin with it first",
    text: `${head}spec:\n  h|`,
    expected: "hosts http methods",
  },
  {
    name: "no field twice, whether above or below",
    text: `${head}spec:\n  hosts: [a]\n  |\n  mode: STRICT\n`,
    expected: "http methods",
  },
  { name: "fields of an element", text: `${head}spec:\n  http:\n    - |`, expected: "timeout route headers mirrorAll" },
  {
    name: "fields of an element whose dash stands below its field",
    text: `${head}spec:\n  http:\n  - timeout: 1s\n    |`,
    expected: "route headers mirrorAll",
  },
  {
    name: "fields of a new element, whatever the one before has",
    text: `${head}spec:\n  http:\n  - timeout: 1s\n  - |`,
    expected: "timeout route headers mirrorAll",
  },
  {
    name: "fields before the next element",
    text: `${head}spec:\n  http:\n  - route: []\n    |\n  - timeout: 1s\n`,
    expected: "timeout headers mirrorAll",
  },
  {
    name: "required fields first",
    text: `${head}spec:\n  http:\n  - route:\n    - destination:\n        |`,
    expected: "host subset",
  },
  {
    name: "fields of a map's values",
    text: `${head}spec:\n  http:\n  - headers:\n      any-name:\n        |`,
    expected: "host subset",
  },
  {
    name: "fields again when a deeper mapping has ended",
    text: `${head}spec:\n  http:\n  - route:\n    - destination:\n        host: a\n  |`,
    expected: "hosts mode methods",
  },
  { name: "values of an enumeration", text: `${head}spec:\n  mode: |`, expected: "STRICT true *.x" },
  { name: "values that hold what is typed", text: `${head}spec:\n  mode: st|`, expected: "STRICT" },
  { name: "values of a list", text: `${head}spec:\n  methods:\n  - G|`, expected: "GET" },
  { name: "both values of a flag", text: `${head}spec:\n  http:\n  - mirrorAll: |`, expected: "true false" },
  { name: "kinds of the group", text: `apiVersion: ${networking}\nkind: |`, expected: "VirtualService Gateway" },
  { name: "kinds of every group", text: "kind: g|", expected: "Gateway" },
  {
    name: "versions of the kind",
    text: "kind: VirtualService\napiVersion: |",
    expected: `${networking} networking.istio.io/v1beta1`,
  },
  { name: "versions of every kind", text: "apiVersion: gate|", expected: "gateway.networking.k8s.io/v1" },
  { name: "what every object has", text: "|", expected: "apiVersion kind metadata" },
  {
    name: "a kind by its group",
    text: "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nspec:\n  |",
    expected: "listeners",
  },
  {
    name: "fields of the caret's own document",
    text: `${head}---\nkind: Gateway\napiVersion: gateway.networking.k8s.io/v1\nspec:\n  |\n---\n${head}`,
    expected: "listeners",
  },
  { name: "nothing in a comment", text: `${head}spec:\n  # h|`, expected: "" },
  {
    name: "nothing in a block scalar",
    text: `${head}spec:\n  hosts: |-\n    h¦`.replace("|-", ">-").replace("¦", "|"),
    expected: "",
  },
  { name: "nothing in flow style", text: `${head}spec: { h|`, expected: "" },
  { name: "nothing in a quoted value", text: `${head}spec:\n  mode: "S|`, expected: "" },
  { name: "nothing in the middle of a word", text: `${head}spec:\n  ho|sts: []`, expected: "" },
  { name: "nothing below a field that is unknown", text: `${head}spec:\n  constructor:\n    |`, expected: "" },
  { name: "nothing below a text", text: `${head}spec:\n  mode: STRICT\n    |`, expected: "" },
  { name: "nothing for a value of any text", text: `${head}metadata:\n  name: |`, expected: "" },
] as const;

const inserted = [
  { name: "a text", text: `${head}metadata:\n  nam|`, expected: "name: " },
  { name: "a mapping", text: `${head}|`, expected: "metadata:\n  " },
  { name: "a list", text: `${head}spec:\n  hos|`, expected: "hosts:\n    - " },
  { name: "a first element", text: `${head}spec:\n  http:\n    tim|`, expected: "- timeout: " },
  { name: "a list within an element", text: `${head}spec:\n  http:\n    - rou|`, expected: "route:\n        - " },
  { name: "a text that YAML reads as a flag", text: `${head}spec:\n  mode: tr|`, expected: '"true"' },
  { name: "a text that YAML reads as an alias", text: `${head}spec:\n  mode: x|`, expected: '"*.x"' },
] as const;

describe("suggestions of the editor", () => {
  for (const { name, text, expected } of places) it(name, () => assert.equal(labels(text), expected));

  for (const { name, text, expected } of inserted)
    it(`write ${name}`, () => assert.equal(first(text)?.insert, expected));

  it("replace the word that is typed", () => {
    const text = `${head}spec:\n  hos|`;
    const found = complete(text);
    assert.deepEqual([found?.word, found?.from], ["hos", text.indexOf("hos")]);
  });

  it("show the type, the description, and that a field is required", () => {
    assert.deepEqual(first(`${head}spec:\n  http:\n  - route:\n    - destination:\n        |`), {
      ...{ label: "host", insert: "host: ", detail: "string", description: "A host name.", isRequired: true },
    });
    assert.equal(first(`${head}spec:\n  mod|`)?.detail, "STRICT | true | *.x");
    assert.equal(first(`${head}spec:\n  met|`)?.detail, "list of GET | PUT");
    assert.deepEqual(
      complete(`${head}spec:\n  http:\n  - mirrorAll: |`)?.items.map(({ detail }) => detail),
      ["", "default"],
    );
  });
});

describe("the place in a YAML text", () => {
  it("goes on after a block scalar that has ended", () => {
    const text = "spec:\n  patch: |\n    a: 1\n      b\n\n  next: ";
    assert.deepEqual(yamlPlace(text, text.length)?.path, ["spec", "next"]);
  });

  it("passes over an element that is a block scalar", () => {
    const text = "spec:\n  list:\n  - |\n    a: 1\n  - x: ";
    assert.deepEqual(yamlPlace(text, text.length)?.path, ["spec", "list", "x"]);
  });

  it("reads lists of lists", () => {
    const text = "a:\n- - b: 1\n    c: ";
    assert.deepEqual(yamlPlace(text, text.length)?.path, ["a", "c"]);
  });
});
