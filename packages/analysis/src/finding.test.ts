/** The order of findings, and which of several equal ones is reported. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { distinct, type Finding, oncePerText } from "./finding.ts";

const key = (name: string) => ({ kind: "Gateway", namespace: "shop", name });
const of = (name: string, field: string, code: string, message: string): Finding => {
  return { code, level: "Warning", object: key(name), field, message };
};
const texts = (findings: readonly Finding[]) =>
  findings.map(({ object, field, code, message }) => `${object.name} ${field} ${code} ${message}`);

/** Each differs from the one before in one part only, the last ones in the parts that count least. */
const inOrder = [
  of("a", "spec.a", "IST1", "x"),
  of("a", "spec.a", "IST1", "y"),
  of("a", "spec.a", "IST2", "x"),
  of("a", "spec.b", "IST1", "x"),
  of("b", "spec.a", "IST1", "x"),
];

describe("findings", () => {
  it("are in the order of their objects, fields, codes and messages, whatever the order of the analyzers", () => {
    assert.deepEqual(texts(distinct(inOrder.toReversed())), texts(inOrder));
    const [one, two, three, four, five] = inOrder as [Finding, Finding, Finding, Finding, Finding];
    assert.deepEqual(texts(distinct([three, five, one, four, two])), texts(inOrder));
  });

  it("that are alike in every part are reported once", () => {
    assert.deepEqual(texts(distinct([...inOrder, ...inOrder])), texts(inOrder));
  });

  it("of one cause are reported at the first place of their object", () => {
    assert.deepEqual(texts(oncePerText(inOrder.toReversed())), [
      "a spec.a IST1 x",
      "a spec.a IST1 y",
      "a spec.a IST2 x",
      "b spec.a IST1 x",
    ]);
  });
});
