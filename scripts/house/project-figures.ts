/** Figures of the project as a whole: unused code, as knip finds it by knip.json, and the files of docs/architecture/walk.md. */
import { spawnSync } from "node:child_process";

/** Entry of one file in knip's JSON; each list has the unused names of its kind. */
type Issue = Readonly<Record<string, unknown>> & { readonly file: string };

/** One line each: `FILE: KIND NAME`. @throws when knip itself fails, with what it wrote. */
export function unusedNames(root: string): readonly string[] {
  const knip = spawnSync("knip", ["--no-progress", "--no-config-hints", "--reporter", "json"], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  // 1: it has found something.
  if (knip.error !== undefined || knip.status === null || knip.status > 1)
    throw new Error(`[HOUSE_KNIP] ${knip.error?.message ?? knip.stderr}`);
  return unusedOf(knip.stdout);
}

/** The lines of knip's JSON. */
export function unusedOf(json: string): readonly string[] {
  const { issues } = JSON.parse(json) as { readonly issues: readonly Issue[] };
  return issues.flatMap(({ file, ...kinds }) =>
    Object.entries(kinds).flatMap(([kind, found]) =>
      Array.isArray(found) ? found.map((one: { readonly name?: string }) => `${file}: ${kind} ${one.name ?? ""}`) : [],
    ),
  );
}

/** Figures that walk.integration.test.ts compares with those of a real run. */
export interface WalkFigures {
  readonly title: string;
  readonly files: number;
  /** The highest that is named. */
  readonly returns: number;
}

/** Of each section that begins with `N files, N to N returns.`. */
export function walkFigures(page: string): readonly WalkFigures[] {
  const sections = page.matchAll(/^## (.+)\n\n(\d+) files, (?:\d+ to )?(\d+) returns\./gm);
  return [...sections].map(([, title = "", files, returns]) => ({
    title,
    files: Number(files),
    returns: Number(returns),
  }));
}

/** A file by its path below a service's `src`, with its lines. */
export interface MeasuredFile {
  readonly path: string;
  readonly lines: number;
}

/** Lines of unit tests to lines of source of each top-level folder; helpers of tests, in folders named `testing`, are neither. */
export function testShares(files: readonly MeasuredFile[]): ReadonlyMap<string, number> {
  const counted = files.filter(
    ({ path }) => path.includes("/") && !/(?:^|\/)testing\/|\.integration\.test\.ts$/.test(path),
  );
  const folders = Map.groupBy(counted, ({ path }) => path.split("/", 1)[0] ?? "");
  const linesOf = (all: readonly MeasuredFile[]) => all.reduce((sum, { lines }) => sum + lines, 0);
  const isTest = ({ path }: MeasuredFile) => /\.(?:test|fixture|conformance)\.ts$/.test(path);
  return new Map(
    [...folders].map(([folder, all]) => {
      const tests = all.filter(isTest);
      return [folder, linesOf(tests) / Math.max(1, linesOf(all) - linesOf(tests))];
    }),
  );
}
