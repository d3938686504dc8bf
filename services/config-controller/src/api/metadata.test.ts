/** Rules for the metadata of an object, one field broken at a time. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { KubeObject } from "@flotilla/model";
import { metadataProblems } from "./metadata.ts";

const fieldsOf = (metadata: object): readonly string[] =>
  metadataProblems({ kind: "Sidecar", metadata: { name: "a", ...metadata } } as unknown as KubeObject).map(
    ({ field, severity }) => `${severity} ${field}`,
  );
const numbered = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`l${at}`, "v"]));
const long = (length: number): string => "x".repeat(length);
const labels = (key: string, value: unknown = "v") => ({ labels: { [key]: value } });

const good: readonly (readonly [string, object])[] = [
  ["a name alone", {}],
  ["a name with dots and dashes", { name: "a-1.b-2.c" }],
  ["the longest name", { name: long(253) }],
  ["the longest namespace", { namespace: long(63) }],
  ["a label", labels("app", "web_1.x-Y")],
  ["an empty label", labels("app", "")],
  ["the longest label", labels(long(63), long(63))],
  ["a label with a prefix", labels("a.test/App")],
  ["a label with the longest prefix", labels(`${long(253)}/a`)],
  ["an annotation with any text", { annotations: { "a.test/b": " \n" } }],
  ["a thousand labels and annotations", { labels: numbered(1_000), annotations: numbered(1_000) }],
  ["the largest annotations", { annotations: { a: long(256 * 1024 - '{"a":""}'.length) } }],
];
const bad: readonly (readonly [string, object, string])[] = [
  ["no name", { name: undefined }, "name"],
  ["a name that is no text", { name: 1 }, "name"],
  ["a name with capital letters", { name: "A" }, "name"],
  ["a name that ends with a dot", { name: "a." }, "name"],
  ["a name that is too long", { name: long(254) }, "name"],
  ["a namespace that is no text", { namespace: 1 }, "namespace"],
  ["a namespace with a dot", { namespace: "a.b" }, "namespace"],
  ["a namespace that is too long", { namespace: long(64) }, "namespace"],
  ["labels that are a text", { labels: "a" }, "labels"],
  ["labels that are a list", { labels: ["a"] }, "labels"],
  ["labels that are null", { labels: null }, "labels"],
  ["a label that is no text", labels("a", 1), "labels[a]"],
  ["a label with a space", labels("a", "b c"), "labels[a]"],
  ["a label that is too long", labels("a", long(64)), "labels[a]"],
  ["a label without a name", labels(""), "labels[]"],
  ["a label with a prefix alone", labels("a.test/"), "labels[a.test/]"],
  ["a label with an empty prefix", labels("/a"), "labels[/a]"],
  ["a label with two prefixes", labels("a/b/c"), "labels[a/b/c]"],
  ["a label with a prefix of capital letters", labels("A/b"), "labels[A/b]"],
  ["a label with a prefix that is too long", labels(`${long(254)}/a`), `labels[${long(254)}/a]`],
  ["a label whose name after the prefix is too long", labels(`a/${long(64)}`), `labels[a/${long(64)}]`],
  ["an annotation that is no text", { annotations: { a: {} } }, "annotations[a]"],
  ["an annotation without a name", { annotations: { "": "x" } }, "annotations[]"],
  ["more than a thousand labels", { labels: numbered(1_001) }, "labels"],
  ["more than a thousand annotations", { annotations: numbered(1_001) }, "annotations"],
  ["annotations that are too large", { annotations: { a: long(256 * 1024 - '{"a":""}'.length + 1) } }, "annotations"],
];

describe("metadata of an object", () => {
  for (const [name, metadata] of good) it(`may have ${name}`, () => assert.deepEqual(fieldsOf(metadata), []));
  for (const [name, metadata, field] of bad)
    it(`may not have ${name}`, () => assert.deepEqual(fieldsOf(metadata), [`error metadata.${field}`]));
  it("warns of fields that are not kept", () => {
    const fields = fieldsOf({ finalizers: [], ownerReferences: [] });
    assert.deepEqual(fields, ["warning metadata.finalizers", "warning metadata.ownerReferences"]);
  });
});
