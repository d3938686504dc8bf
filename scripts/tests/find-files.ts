/** The test files of the project: `unit` is every `*.test.ts`, `integration` every `*.integration.test.ts` (they start real servers). */
import { glob } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

export type TestKind = "unit" | "integration";

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

const integrationSuffix = ".integration.test.ts";
const patterns = [
  "packages/*/src/**/*.test.ts",
  "services/*/src/**/*.test.ts",
  "test/**/*.test.ts",
  "scripts/**/*.test.ts",
];

/**
 * Absolute paths in a fixed order; of several names those whose path contains any of them.
 * @throws RangeError when a name fits no file
 */
export async function findTestFiles(kind: TestKind, names: readonly string[] = []): Promise<readonly string[]> {
  const all: string[] = [];
  for (const pattern of patterns) {
    for await (const file of glob(pattern, { cwd: root, exclude: (name) => name === "node_modules" }))
      if (file.endsWith(integrationSuffix) === (kind === "integration")) all.push(join(root, file));
  }
  const files = [...new Set(all)].sort();
  for (const name of names)
    if (!files.some((file) => isNamed(file, name))) throw new RangeError(`no ${kind} test file fits "${name}"`);
  return names.length === 0 ? files : files.filter((file) => names.some((name) => isNamed(file, name)));
}

function isNamed(file: string, name: string): boolean {
  return relative(root, file).includes(name);
}
