/** Names that istiod has, and whether they are honoured here: environment variables, flags, debug pages, metrics, messages of analysis. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { honouredNames } from "./honoured.ts";
import { kinds, type NamesByKind } from "./kinds.ts";
import { missing } from "./missing.ts";
import { notApplicable } from "./not-applicable.ts";

export interface Classified {
  readonly honoured: readonly string[];
  readonly notApplicable: readonly string[];
  readonly missing: readonly string[];
  /** In no table, and not honoured. */
  readonly unclassified: readonly string[];
  /** In a table although it is honoured, in both, or no name of istiod. */
  readonly wrong: readonly string[];
}

export type Reference = NamesByKind<Classified>;

/** @param corpus the directory of Istio's own test cases: names of its lists that the project does not have are unclassified */
export async function classifyReference(corpus: string): Promise<Reference> {
  const known = JSON.parse(
    readFileSync(join(dirname(fileURLToPath(import.meta.url)), "names.json"), "utf8"),
  ) as NamesByKind<readonly string[]>;
  const listed = namesOfCorpus(join(corpus, "reference"));
  const honoured = await honouredNames();
  const entries = kinds.map((kind) => {
    const names = [...new Set([...known[kind], ...(listed?.[kind] ?? [])])];
    return [kind, classify(names, honoured[kind], notApplicable[kind], missing[kind])] as const;
  });
  return Object.fromEntries(entries) as unknown as Reference;
}

export function classify(
  names: readonly string[],
  honoured: ReadonlySet<string>,
  reasons: Readonly<Record<string, string>>,
  gaps: Readonly<Record<string, string>>,
): Classified {
  const [without, absent] = [new Set(Object.keys(reasons)), new Set(Object.keys(gaps))];
  const all = new Set(names);
  return {
    honoured: names.filter((name) => honoured.has(name)),
    notApplicable: names.filter((name) => without.has(name)),
    missing: names.filter((name) => absent.has(name)),
    unclassified: names.filter((name) => !honoured.has(name) && !without.has(name) && !absent.has(name)),
    wrong: [
      ...[...without].filter((name) => honoured.has(name) || absent.has(name) || !all.has(name)),
      ...[...absent].filter((name) => honoured.has(name) || !all.has(name)),
    ],
  };
}

export const titles: NamesByKind<string> = {
  environment: "environment variables",
  flags: "flags",
  pages: "debug pages",
  metrics: "metrics",
  messages: "messages of analysis",
};

/** One line a kind; with `verbose` each name that is not honoured, and why. */
export function printReference(reference: Reference, write: (line: string) => void, verbose: boolean): void {
  for (const kind of kinds) {
    const found = reference[kind];
    const total = found.honoured.length + found.notApplicable.length + found.missing.length + found.unclassified.length;
    write(
      `reference: ${titles[kind].padEnd(22)} honoured: ${found.honoured.length}/${total}  not applicable: ${found.notApplicable.length}  missing: ${found.missing.length}  unclassified: ${found.unclassified.length}`,
    );
    if (!verbose) continue;
    for (const name of found.notApplicable) write(`  not applicable: ${name}: ${notApplicable[kind][name]}`);
    for (const name of found.missing) write(`  missing: ${name}: ${missing[kind][name]}`);
  }
}

/** Failures that no run may show: names without a class, entries that do not hold, fewer honoured names than the floor. */
export function referenceFailures(
  reference: Reference,
  floors: Partial<NamesByKind<number>> | undefined,
): readonly string[] {
  return kinds.flatMap((kind) => {
    const { unclassified, wrong, honoured } = reference[kind];
    const floor = floors?.[kind] ?? 0;
    return [
      ...unclassified.map((name) => `reference: ${name} of ${titles[kind]} is not classified`),
      ...wrong.map((name) => `reference: ${name} of ${titles[kind]} is honoured, in two tables, or no name of istiod`),
      ...(honoured.length < floor
        ? [`reference: ${honoured.length} ${titles[kind]} are honoured, under the floor of ${floor}`]
        : []),
    ];
  });
}

interface Lists {
  readonly variables: readonly { readonly name: string }[];
  readonly commands: readonly { readonly flags?: readonly { readonly flag: string }[] }[];
  readonly endpoints: readonly { readonly path: string }[];
  readonly metrics: readonly { readonly name: string }[];
  readonly messages: readonly { readonly code: string }[];
}

/** Undefined where the lists are not at hand. */
function namesOfCorpus(folder: string): NamesByKind<readonly string[]> | undefined {
  if (!existsSync(folder)) return undefined;
  const read = <Field extends keyof Lists>(file: string, field: Field): Lists[Field] =>
    (JSON.parse(readFileSync(join(folder, file), "utf8")) as Lists)[field];
  return {
    environment: read("env.json", "variables").map(({ name }) => name),
    flags: read("flags.json", "commands").flatMap(({ flags = [] }) =>
      flags.map(({ flag }) => flag.split(" ")[0] ?? ""),
    ),
    pages: read("debug-endpoints.json", "endpoints").map(({ path }) => path),
    metrics: read("metrics.json", "metrics").map(({ name }) => name),
    messages: read("analysis-messages.json", "messages").map(({ code }) => code),
  };
}
