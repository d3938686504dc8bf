/** The objects of a text, and the lines of their fields. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { lineOf, parseYaml } from "./yaml-objects.ts";

const text = `# a comment
kind: VirtualService
spec:
  hosts: [web]
  http:
  - timeout: 1s
    route:
    - weight: x
---
---
kind: Gateway
`;

describe("objects of a text", () => {
  const objects = parseYaml(text);
  it("are its documents, but for empty ones", () => {
    assert.deepEqual(
      objects.map(({ object }) => object["kind"]),
      ["VirtualService", "Gateway"],
    );
  });

  const fields = [
    { field: "spec.http[0].route[0].weight", line: 8 },
    { field: "spec.http[0].timeout", line: 6 },
    { field: "spec.http[0].retries.attempts", line: 6 },
    { field: "spec.gateways", line: 4 },
    { field: "", line: 2 },
  ] as const;
  for (const { field, line } of fields)
    it(`${field || "the whole"} stands on line ${line}`, () => assert.equal(lineOf(objects[0], field), line));

  it("mistakes are named by line", () => {
    assert.throws(
      () => parseYaml("a: 1\nb: [\n"),
      (error: { code: string; causes: { line: number }[] }) => {
        assert.equal(error.code, "invalid");
        assert.ok((error.causes[0]?.line ?? 0) >= 2);
        return true;
      },
    );
  });
  it("a text that is too long is refused before it is read", () =>
    assert.throws(() => parseYaml("a".repeat(200_000)), { code: "too-large" }));
  it("a document that is no object is refused", () => assert.throws(() => parseYaml("- 1"), { code: "invalid" }));
});
