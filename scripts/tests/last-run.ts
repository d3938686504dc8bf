/** How long each test file took when it last ran on this machine, kept from one run to the next: those that take longest begin. */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "./find-files.ts";

type Seconds = Readonly<Record<string, number>>;

const ownFile = join(root, "node_modules/.cache/test-seconds.json");

/** By path from the root; empty on a machine where nothing ran yet. */
export function readLastRun(file = ownFile): ReadonlyMap<string, number> {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    // Nothing ran here before: the order of the files is as good as any.
    return new Map();
  }
  return new Map(Object.entries(JSON.parse(text) as Seconds));
}

/** Keeps what is known of files that did not run. */
export function writeLastRun(seconds: ReadonlyMap<string, number>, file = ownFile): void {
  const all = new Map([...readLastRun(file), ...seconds]);
  mkdirSync(dirname(file), { recursive: true });
  // Two runs may end at the same time.
  writeFileSync(`${file}.${process.pid}`, JSON.stringify(Object.fromEntries([...all].sort())));
  renameSync(`${file}.${process.pid}`, file);
}
