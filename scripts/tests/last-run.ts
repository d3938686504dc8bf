/**
 * How long each test file took when it last ran on this machine, kept from one run to the next: those that take longest begin. In a clone where nothing
 * ran yet, `measured-seconds.json` has those of a whole run; `node scripts/write-test-seconds.ts` takes them from the last one.
 */
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

/** Of a file of neither table: most take less. */
const ordinarySeconds = 2;
/** Files that took less are not in the table of a clone. */
const longSeconds = 5;
const measuredFile = join(root, "scripts/tests/measured-seconds.json");

/** How long a file will take: as in the last run here, or else in that of the table. */
export function expectedSeconds(
  lastRun: ReadonlyMap<string, number> = readLastRun(),
  measured: ReadonlyMap<string, number> = readLastRun(measuredFile),
): (file: string) => number {
  return (file) => lastRun.get(file) ?? measured.get(file) ?? ordinarySeconds;
}

/** The table of a clone, from the last run here. */
export function writeMeasured(lastRun: ReadonlyMap<string, number> = readLastRun(), file = measuredFile): void {
  const long = [...lastRun].filter(([, seconds]) => seconds >= longSeconds).sort(([a], [b]) => (a < b ? -1 : 1));
  const rounded = long.map(([name, seconds]) => [name, Math.round(seconds)]);
  writeFileSync(file, `${JSON.stringify(Object.fromEntries(rounded), undefined, 2)}\n`);
}

/** Keeps what is known of files that did not run. */
export function writeLastRun(seconds: ReadonlyMap<string, number>, file = ownFile): void {
  const all = new Map([...readLastRun(file), ...seconds]);
  mkdirSync(dirname(file), { recursive: true });
  // Two runs may end at the same time.
  writeFileSync(`${file}.${process.pid}`, JSON.stringify(Object.fromEntries([...all].sort())));
  renameSync(`${file}.${process.pid}`, file);
}
