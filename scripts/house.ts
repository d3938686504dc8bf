/**
 * `pnpm house`: how large files and functions are, through how many files a change goes, how much is unused and how many exports of the
 * packages are documented, beside what is to be reached.
 * Fails where a figure is worse than its limit, which is what was reached last: a change may only better it.
 */
import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type FileFigures, fileFigures, longLines } from "./house/file-figures.ts";
import { testShares, unusedNames, walkFigures } from "./house/project-figures.ts";

interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** Worse than this fails. */
  readonly limit: number;
  /** The target to reach. */
  readonly wanted: number;
  readonly isBest: "low" | "high";
}

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const isProduct = (file: string) =>
  !/\.(test|fixture|conformance)\.ts$|\/gen\/|\/testing\/|\/node_modules\//.test(file) && !file.endsWith(".d.ts");
const files = globSync("{packages,services}/*/src/**/*.{ts,tsx}", { cwd: root }).filter(isProduct).sort();
const read = new Map(files.map((file) => [file, fileFigures(file, readFileSync(join(root, file), "utf8"))] as const));

const lengths = [...read.values()].map(({ lines }) => lines).sort((a, b) => a - b);
const quantile = (share: number) => lengths[Math.min(lengths.length - 1, Math.floor(lengths.length * share))] ?? 0;
const percent = (part: number, whole: number) => Math.round((1000 * part) / whole) / 10;
const long = [...read].flatMap(([file, { longFunctions }]) => longFunctions.map((name) => `${file}: ${name}`));
const packages = [...read].filter(([file]) => file.startsWith("packages/")).map(([, figures]) => figures);
const sum = (pick: (one: FileFigures) => number) => packages.reduce((total, one) => total + pick(one), 0);

const unused = unusedNames(root);
/** Files of both walks: the limit, and what is to be reached. */
const walkLimits: Readonly<Record<string, { readonly files: number; readonly wanted: number }>> = {
  "A VirtualService": { files: 61, wanted: 65 },
  "An endpoint": { files: 51, wanted: 50 },
};
const ofWalks = walkFigures(readFileSync(join(root, "docs/architecture/walk.md"), "utf8")).flatMap(
  ({ title, files: count, returns }): readonly Figure[] => {
    const { files: limit, wanted } = walkLimits[title] ?? { files: 0, wanted: 0 };
    return [
      { name: `walk: ${title}`, value: count, unit: "files", limit, wanted, isBest: "low" },
      { name: `walk: ${title}`, value: returns, unit: "returns", limit: 12, wanted: 12, isBest: "low" },
    ];
  },
);

const server = join(root, "services/xds-server/src");
const shares = testShares(
  globSync("**/*.ts", { cwd: server }).map((path) => ({
    path,
    lines: readFileSync(join(server, path), "utf8").split("\n").length - 1,
  })),
);
const [leastTested = "", leastShare = 0] = [...shares].sort(([, a], [, b]) => a - b)[0] ?? [];

const figures: readonly Figure[] = [
  {
    ...{ name: "files under 40 lines", unit: "%", limit: 14.6, wanted: 15, isBest: "low" },
    value: percent(lengths.filter((lines) => lines < 40).length, lengths.length),
  },
  { name: "median length of a file", unit: "lines", value: quantile(0.5), limit: 90, wanted: 120, isBest: "low" },
  {
    name: "90 % of files are shorter than",
    unit: "lines",
    value: quantile(0.9),
    limit: 180,
    wanted: 260,
    isBest: "low",
  },
  { name: "longest file", unit: "lines", value: lengths.at(-1) ?? 0, limit: 310, wanted: 320, isBest: "low" },
  { name: `functions over ${longLines} lines`, unit: "", value: long.length, limit: 0, wanted: 0, isBest: "low" },
  ...ofWalks,
  {
    ...{
      name: `tests of xds-server/${leastTested}, the least`,
      unit: "of it",
      limit: 0.6,
      wanted: 0.6,
      isBest: "high",
    },
    value: Math.floor(100 * leastShare) / 100,
  },
  { name: "files, exports, packages without use", value: unused.length, unit: "", limit: 0, wanted: 0, isBest: "low" },
  {
    ...{ name: "documented exports of packages", unit: "%", limit: 70, wanted: 65, isBest: "high" },
    value: percent(
      sum(({ documented }) => documented),
      sum(({ exports }) => exports),
    ),
  },
];

const isWorse = ({ value, limit, isBest }: Figure) => (isBest === "low" ? value > limit : value < limit);
for (const { name, value, unit, wanted, isBest } of figures)
  process.stdout.write(
    `${name.padEnd(36)} ${String(value).padStart(6)} ${unit.padEnd(7)} ${isBest === "low" ? "≤" : "≥"} ${wanted}\n`,
  );
for (const one of long) process.stdout.write(`over ${longLines} lines: ${one}\n`);
for (const one of unused) process.stdout.write(`without use: ${one}\n`);
const worse = figures.filter(isWorse);
for (const { name, value, limit } of worse) process.stdout.write(`${name}: ${value}, was ${limit}\n`);
process.stdout.write(`${files.length} files\n${figures.length - worse.length} passed, ${worse.length} failed\n`);
process.exitCode = worse.length === 0 ? 0 : 1;
