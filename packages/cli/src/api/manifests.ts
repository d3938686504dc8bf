/** The objects of files, directories or the standard input, with the places they stand at. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, sep } from "node:path";
import { createTwoFilesPatch } from "diff";
import { LineCounter, parseAllDocuments, stringify } from "yaml";
import { CliError } from "../errors.ts";

export interface Manifest {
  /** `FILE:LINE`. */
  readonly place: string;
  readonly object: Readonly<Record<string, unknown>>;
}

/** Kind/namespace/name of an object, as far as it has them. */
export function describe({ object }: Manifest): string {
  const { name = "", namespace } = metadataOf(object);
  return `${String(object["kind"] ?? "")} ${namespace === undefined ? "" : `${namespace}/`}${name}`;
}

function metadataOf(object: Readonly<Record<string, unknown>>): {
  readonly name?: string;
  readonly namespace?: string;
} {
  const { metadata } = object;
  return typeof metadata === "object" && metadata !== null ? metadata : {};
}

/** `-` is the standard input; of a directory the files that end in .yaml, .yml or .json count. @throws CliError CLI_USAGE, CLI_REFUSED */
export function readManifests(paths: readonly string[]): readonly Manifest[] {
  return paths
    .flatMap(filesOf)
    .flatMap((file) => parseManifests(file === "-" ? "stdin" : file, readManifestText(file)));
}

/** @throws CliError CLI_REFUSED naming all places that cannot be read */
export function parseManifests(file: string, text: string): readonly Manifest[] {
  const lineCounter = new LineCounter();
  // Without the parser's pictures of errors, whose first lines name the place once more.
  const documents = parseAllDocuments(text, { lineCounter, merge: true, prettyErrors: false });
  if (!Array.isArray(documents)) return [];
  const lineAt = (position: number | undefined): number => lineCounter.linePos(position ?? 0).line;
  const errors = documents.flatMap((document) => document.errors);
  if (errors.length > 0) {
    const problems = errors.map(({ message, pos }) => `${file}:${lineAt(pos[0])}: ${message.split("\n", 1)[0]}`);
    throw new CliError("CLI_REFUSED", problems.join("\n"));
  }
  return documents.flatMap((document) => {
    const place = `${file}:${lineAt(document.contents?.range?.[0])}`;
    return expand(document.toJS(), place);
  });
}

/** `kind: List` stands for its items. */
function expand(value: unknown, place: string): readonly Manifest[] {
  if (value === null || value === undefined) return [];
  if (typeof value !== "object" || Array.isArray(value)) throw new CliError("CLI_REFUSED", `${place}: is no object`);
  const object = value as Readonly<Record<string, unknown>>;
  const { kind, items } = object;
  return kind === "List" && Array.isArray(items)
    ? items.flatMap((item: unknown) => expand(item, place))
    : [{ place, object }];
}

/** The files that a path stands for. @throws CliError CLI_USAGE where there is none */
export function filesOf(path: string): readonly string[] {
  if (path === "-") return [path];
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) throw new CliError("CLI_USAGE", `there is no file ${path}`);
  if (!found.isDirectory()) return [path];
  const names = readdirSync(path, { recursive: true, encoding: "utf8" }).sort();
  return names.filter(isOfManifests).map((name) => join(path, name));
}

/** As the services read a directory: names that begin with a dot are of editors and of version control. */
function isOfManifests(name: string): boolean {
  return /\.(ya?ml|json)$/i.test(name) && name.split(sep).every((part) => !part.startsWith("."));
}

/** `-` is the standard input. @throws CliError CLI_USAGE for a file that cannot be read */
export function readManifestText(file: string): string {
  try {
    return readFileSync(file === "-" ? 0 : file, "utf8");
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const reason = code === "ENOENT" ? "it is a link that leads nowhere, or gone" : message;
    throw new CliError("CLI_USAGE", `${file} cannot be read: ${reason}`, { cause });
  }
}

interface ManifestDiff {
  /** `Kind/namespace/name`. */
  readonly object: string;
  /** Undefined: there was no such object. */
  readonly before: object | undefined;
  readonly after: object | undefined;
  readonly labels: readonly [before: string, after: string];
}

/** Differences of objects as unified diffs of their YAML: `patch` and editors read them. "" for equal objects. */
export function unifiedDiff({ object, before, after, labels }: ManifestDiff): string {
  const [old, fresh] = [yamlOf(before), yamlOf(after)];
  if (old === fresh) return "";
  const names = [before === undefined ? "/dev/null" : `a/${object}`, after === undefined ? "/dev/null" : `b/${object}`];
  const [from = "", to = ""] = names;
  const patch = createTwoFilesPatch(from, to, old, fresh, labels[0], labels[1], { context: 3 });
  // The first line of a patch by this library is a ruler, which `patch` skips and people need not see.
  return patch.replace(/^=+\n/, "").trimEnd();
}

function yamlOf(object: object | undefined): string {
  return object === undefined ? "" : stringify(object, { sortMapEntries: true, lineWidth: 0 });
}
