/** Files that scripts make from the code: written, or with `--check` compared only. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface GeneratedFile {
  /** From the root of the repository. */
  readonly file: string;
  readonly text: string;
  /** The source of the text, for the message. */
  readonly from: string;
  /** Writes it anew. */
  readonly command: string;
}

/** The process ends with code 1 where the file differs. */
export function writeOrCheck({ file, text, from, command }: GeneratedFile): void {
  const path = join(import.meta.dirname, "..", file);
  if (!process.argv.includes("--check")) writeFileSync(path, text);
  else if (readFileSync(path, "utf8") !== text) {
    process.stdout.write(`${file} differs from ${from}: run ${command}\n`);
    process.exitCode = 1;
  }
}
