/** PEM blocks: accepted and refused texts, and chains put together. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { PkiError } from "./errors.ts";
import { appendPem, encodePem, parseOnePem, parsePem } from "./pem.ts";

const der = Buffer.from(Array.from({ length: 100 }, (_, i) => i));
const block = encodePem("CERTIFICATE", der);
const isBad = (error: unknown): boolean => error instanceof PkiError && error.code === "PKI_BAD_PEM";

describe("PEM", () => {
  it("has lines of 64 and a newline at its end", () => {
    assert.deepEqual(
      block.split("\n").map((line) => line.length),
      [27, 64, 64, 8, 25, 0],
    );
    assert.deepEqual(parsePem(block), [{ label: "CERTIFICATE", der }]);
    assert.equal(encodePem("A", Buffer.alloc(48)), `-----BEGIN A-----\n${"A".repeat(64)}\n-----END A-----\n`);
  });
  for (const [name, text, labels] of [
    ["comment around blocks", `a\n${block}b\n${block}c`, ["CERTIFICATE", "CERTIFICATE"]],
    ["line ends of Windows", block.replaceAll("\n", "\r\n"), ["CERTIFICATE"]],
    ["an end of another label", block.replace("END CERTIFICATE", "END KEY"), []],
    ["a beginning without an end", `-----BEGIN KEY-----\n${block}`, ["CERTIFICATE"]],
    ["a beginning that goes on in its line", block.replace("-----\n", "----- "), []],
    ["an end alone", "-----END CERTIFICATE-----", []],
  ] as const)
    it(`is read: ${name}`, () =>
      assert.deepEqual(
        parsePem(text).map(({ label }) => label),
        labels,
      ));
  it("may have headers before its body", () => {
    const headed = block.replace("-----\n", "-----\nProc-Type: 4\nDEK-Info: a\n\n");
    assert.deepEqual(parsePem(headed), [{ label: "CERTIFICATE", der }]);
  });
  for (const body of ["A", "AAA", "A===", "AA=A", "AA*="])
    it(`is refused with the body ${body}`, () =>
      assert.throws(() => parsePem(`-----BEGIN A-----\n${body}\n-----END A-----`), isBad));
  it("of one block must have a label that belongs there", () => {
    assert.deepEqual(parseOnePem(block, ["KEY", "CERTIFICATE"]).der, der);
    assert.throws(() => parseOnePem(block, ["KEY"]), isBad);
    assert.throws(() => parseOnePem("", ["KEY"]), isBad);
  });
  it("is appended on a line of its own", () => {
    assert.equal(appendPem("a\n", "b"), "a\nb");
    assert.equal(appendPem("a", "b"), "a\nb");
    assert.equal(appendPem("", "b"), "b");
    assert.equal(appendPem("a", ""), "a");
  });
});
