import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { openProject, recordLookups } from "./record-lookups.ts";

const preamble = `
declare const record: Record<string, number>;
declare const other: Record<string, number>;
declare const list: number[];
declare const outside: string;
declare const closed: "a" | "b";
`;

const cases: readonly { readonly code: string; readonly found: readonly string[] }[] = [
  { code: "record[outside];", found: ["read"] },
  { code: "record?.[String(outside)];", found: ["read"] },
  { code: "record[outside] = 1;", found: ["write"] },
  { code: "record[outside] ??= 1;", found: ["write"] },
  { code: "if (outside in record) {}", found: ["in"] },
  { code: "for (const key in other) record[key];", found: ["read"] },
  { code: "record[closed]; record['a']; list[0];", found: [] },
  { code: "Object.hasOwn(record, outside) ? record[outside] : 0;", found: [] },
  { code: "for (const key in record) record[key];", found: [] },
  { code: "for (const key of Object.keys(record)) record[key];", found: [] },
  { code: "// own key: outside was looked up above\nrecord[outside];", found: [] },
];

it("finds records that are read or written by a key from outside", () => {
  const directory = mkdtempSync(join(tmpdir(), "flotilla-lookups-"));
  try {
    const options = { strict: true, noUncheckedIndexedAccess: true, target: "es2022", noEmit: true };
    writeFileSync(join(directory, "tsconfig.json"), JSON.stringify({ compilerOptions: options, include: ["*.ts"] }));
    cases.forEach(({ code }, index) => {
      writeFileSync(join(directory, `case-${index}.ts`), `${preamble}${code}\nexport {};\n`);
    });
    const found = recordLookups(openProject(join(directory, "tsconfig.json"), () => true));
    for (const [index, { code, found: expected }] of cases.entries()) {
      const kinds = found.filter(({ file }) => file.endsWith(`/case-${index}.ts`)).map(({ kind }) => kind);
      assert.deepEqual(kinds, expected, code);
    }
  } finally {
    rmSync(directory, { recursive: true });
  }
});
