/** The source files that are mutated: what services, packages and the command line ship, without tests and generated code. */
import { execFileSync, spawnSync } from "node:child_process";
import { glob } from "node:fs/promises";
import { join, relative } from "node:path";

export interface LineRange {
  readonly first: number;
  readonly last: number;
}

const notMutated =
  /\.test\.ts$|\.fixture\.ts$|\.conformance\.ts$|\/gen\/|\/testing\/|^packages\/(testkit|proto)\/|\/kube-assets\.ts$|\/index\.ts$/;

/**
 * Paths relative to the root, in a fixed order; of several names those whose path begins with or contains any of them.
 * @throws RangeError when a name fits no file
 */
export async function findSourceFiles(root: string, names: readonly string[]): Promise<readonly string[]> {
  const all: string[] = [];
  for await (const file of glob(["packages/*/src/**/*.ts", "services/*/src/**/*.ts"], {
    cwd: root,
    exclude: (name) => name === "node_modules",
  }))
    if (!notMutated.test(file)) all.push(file);
  for (const name of names)
    if (!all.some((file) => file.includes(name))) throw new RangeError(`no source file fits "${name}"`);
  return all.filter((file) => names.length === 0 || names.some((name) => file.includes(name))).toSorted();
}

/** `main` or `origin/main`, whichever is the fewer commits behind: a branch `main` of a clone may be an old one, or missing. */
export function mainRevision(root: string): string {
  const ahead = (revision: string): number =>
    Number(ask(root, "rev-list", "--count", `${revision}..HEAD`) ?? Number.POSITIVE_INFINITY);
  return ahead("origin/main") < ahead("main") ? "origin/main" : "main";
}

/**
 * Lines of the working tree that differ from where it left `revision`, by path relative to the root. Undefined: the clone has no such revision,
 * or is too shallow for the commit where they parted.
 */
export function changedLines(root: string, revision: string): ReadonlyMap<string, readonly LineRange[]> | undefined {
  const base = ask(root, "merge-base", revision, "HEAD")?.trim();
  if (base === undefined) return undefined;
  const git = (...args: readonly string[]): string =>
    execFileSync("git", args, { cwd: root, encoding: "utf8", maxBuffer: 256 * 1024 * 1024 });
  const changed = new Map(
    parseDiff(git("diff", "--unified=0", "--no-color", "--no-ext-diff", base, "--", "packages", "services")),
  );
  const untracked = git("ls-files", "--others", "--exclude-standard", "--", "packages", "services");
  for (const file of untracked.split("\n"))
    if (file !== "") changed.set(file, [{ first: 1, last: Number.MAX_SAFE_INTEGER }]);
  return changed;
}

/** The answer of git; undefined when there is no such thing. */
function ask(root: string, ...args: readonly string[]): string | undefined {
  const { status, stdout } = spawnSync("git", args, { cwd: root, encoding: "utf8" });
  return status === 0 ? stdout : undefined;
}

/** The added lines of each file of a diff without context. */
export function parseDiff(diff: string): ReadonlyMap<string, readonly LineRange[]> {
  const changed = new Map<string, LineRange[]>();
  let ranges: LineRange[] | undefined;
  for (const line of diff.split("\n")) {
    const file = /^\+\+\+ b\/(.*)$/.exec(line)?.[1];
    if (line.startsWith("+++ ")) {
      ranges = file === undefined ? undefined : [];
      if (file !== undefined && ranges !== undefined) changed.set(file, ranges);
    }
    const [, from, count = "1"] = /^@@ -\S+ \+(\d+)(?:,(\d+))? @@/.exec(line) ?? [];
    if (from !== undefined && count !== "0")
      ranges?.push({ first: Number(from), last: Number(from) + Number(count) - 1 });
  }
  return changed;
}

/** The folder of a table's row: the package, or the folder of a service. */
export function folderOf(root: string, file: string): string {
  const parts = relative(root, join(root, file)).split("/");
  return parts.slice(0, parts[0] === "packages" ? 2 : Math.min(parts.length - 1, 4)).join("/");
}
