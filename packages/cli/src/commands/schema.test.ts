/** `flotilla schema`: a file for each kind, and one that chooses among them by kind and group. */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { recordRun } from "../recorded-run.fixture.ts";

interface Schema {
  readonly title: string;
  readonly properties: { readonly apiVersion: { readonly enum?: readonly string[] } };
}

interface Branch {
  readonly if: { readonly properties: { readonly kind: { readonly const: string } } };
  readonly then: { readonly $ref: string };
}

describe("flotilla schema", async () => {
  const root = mkdtempSync(join(tmpdir(), "schema-"));
  after(() => rmSync(root, { recursive: true, force: true }));
  const out = join(root, "not", "there");
  const { code, out: printed } = await recordRun(["schema", "--out", out]);
  const files = readdirSync(out);
  const read = <T>(file: string): T => JSON.parse(readFileSync(join(out, file), "utf8")) as T;

  it("writes a file for each kind into a directory that it makes", () => {
    assert.equal(code, 0);
    assert.equal(printed, `${files.length} schemas in ${out}\n`);
    assert.equal(read<Schema>("VirtualService.json").title, "VirtualService");
  });

  it("writes one file that leads to all others by kind and group", () => {
    const { allOf } = read<{ readonly allOf: readonly Branch[] }>("all.json");
    assert.deepEqual(allOf.map(({ then }) => then.$ref).sort(), files.filter((file) => file !== "all.json").sort());
    const gateways = allOf.filter((branch) => branch.if.properties.kind.const === "Gateway");
    assert.equal(gateways.length, 2);
  });
});
