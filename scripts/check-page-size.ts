/** Holds the console's page to its size: gzip of everything that a browser loads at the start, and of all there is. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { builtPage } from "../packages/console/src/built-page.ts";

/** A file of the build, as vite's manifest lists it. */
interface Chunk {
  readonly file: string;
  readonly isEntry?: boolean;
  readonly imports?: readonly string[];
  readonly css?: readonly string[];
  readonly assets?: readonly string[];
}

const limits = { "before a graph is opened": 100_000, "in all": 150_000 } as const;

const directory = await builtPage();
const chunks: Readonly<Record<string, Chunk>> = JSON.parse(readFileSync(join(directory, "manifest.json"), "utf8"));
const filesOf = ({ file, css = [], assets = [] }: Chunk): readonly string[] => [file, ...css, ...assets];
const atStart = (chunk: Chunk): readonly string[] => [
  ...filesOf(chunk),
  ...(chunk.imports ?? []).flatMap((name) => (Object.hasOwn(chunks, name) ? atStart(chunks[name] as Chunk) : [])),
];
const sizeOf = (files: readonly string[]): number =>
  [...new Set(files)].reduce(
    (sum, file) => sum + gzipSync(readFileSync(join(directory, file)), { level: 9 }).length,
    0,
  );
const sizes = {
  "before a graph is opened": sizeOf([
    "index.html",
    ...Object.values(chunks)
      .filter(({ isEntry }) => isEntry)
      .flatMap(atStart),
  ]),
  "in all": sizeOf(["index.html", ...Object.values(chunks).flatMap(filesOf)]),
};
let failed = 0;
for (const name of ["before a graph is opened", "in all"] as const) {
  const isTooLarge = sizes[name] > limits[name];
  if (isTooLarge) failed++;
  process.stdout.write(`${name.padEnd(26)} ${sizes[name]} bytes of gzip, at most ${limits[name]}\n`);
}
process.stdout.write(`${2 - failed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;
