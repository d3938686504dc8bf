/** Kept inputs: a file each in `corpus/TARGET`. Those that once failed stay, so that they are tried first at each run. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "corpus");

/** In order of their names. */
export function keptInputs(target: string): readonly Buffer[] {
  const directory = join(root, target);
  if (!existsSync(directory)) return [];
  return readdirSync(directory)
    .sort()
    .map((name) => readFileSync(join(directory, name)));
}

/** The file's name. @param why it is kept: it failed, or reached new code */
export function keepInput(target: string, input: Buffer, why: "found" | "reached" = "found"): string {
  const directory = join(root, target);
  mkdirSync(directory, { recursive: true });
  const name = `${why}-${createHash("sha256").update(input).digest("hex").slice(0, 12)}`;
  writeFileSync(join(directory, name), input);
  return `scripts/fuzz/corpus/${target}/${name}`;
}
