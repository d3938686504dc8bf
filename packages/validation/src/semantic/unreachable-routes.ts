/** Routes and matches that no request can meet, since earlier ones take them: accepted, with a warning. */
import type { Problem } from "../problem.ts";
import { entries, type Field, field, isSet, items, numberOf, textOf, warnIf } from "./shared/field.ts";
import { quoted } from "./shared/names.ts";

/** For the routes of one protocol, in their order. */
export function unreachableProblems(routes: readonly Field[]): readonly Problem[] {
  const seen = new Map<string, Field>();
  const prefixes = new PrefixMatches();
  let catchAll: Field | undefined;
  return routes.flatMap((route) => {
    const matches = items(route, "match");
    const before = catchAll;
    if (matches.length === 0) {
      catchAll ??= route;
      return unused(before !== undefined, route, `is never used: ${before?.path} has no match and takes everything`);
    }
    if (before !== undefined)
      return unused(true, route, `is never used: ${before.path} has no match and takes everything`);
    const findings = matches.map((match) => takenProblems(match, seen, prefixes));
    const isUnused = findings.every(({ isRepeated }) => isRepeated);
    return [
      ...findings.flatMap(({ problems }) => problems),
      ...unused(isUnused, route, "is never used: earlier routes have all of its matches"),
    ];
  });
}

function unused(condition: boolean, route: Field, reason: string): readonly Problem[] {
  return warnIf(condition, route, reason).map((problem) => ({ ...problem, rule: "unused-route" }));
}

function unmet(match: Field, reason: string): readonly Problem[] {
  return warnIf(true, match, reason).map((problem) => ({ ...problem, rule: "unmet-match" }));
}

/** Reports a match whose requests an earlier match takes, and remembers this one. */
function takenProblems(
  match: Field,
  seen: Map<string, Field>,
  prefixes: PrefixMatches,
): { readonly problems: readonly Problem[]; readonly isRepeated: boolean } {
  const text = matchText(match);
  const same = seen.get(text);
  if (same !== undefined) return { problems: unmet(match, `is never met: ${same.path} is the same`), isRepeated: true };
  seen.set(text, match);
  if (prefixOf(match) === "") return { problems: [], isRepeated: false };
  const wider = prefixes.shorterThan(prefixOf(match)).find((earlier) => covers(earlier, match));
  prefixes.add(match);
  const problems = (wider === undefined ? [] : [wider]).flatMap((earlier) =>
    unmet(match, `is never met: ${earlier.path} takes every path with prefix ${quoted(prefixOf(earlier))}`),
  );
  return { problems, isRepeated: false };
}

/** Of one prefix, so many earlier matches are compared with a later one: a bound on the time that generated routes take. */
const maxCompared = 100;

/** Matches by prefix, found by the beginnings of a longer one. */
class PrefixMatches {
  readonly #byPrefix = new Map<string, Field[]>();
  readonly #lengths = new Set<number>();

  add(match: Field): void {
    const prefix = prefixOf(match);
    const known = this.#byPrefix.get(prefix) ?? [];
    if (known.length < maxCompared) known.push(match);
    this.#byPrefix.set(prefix, known);
    this.#lengths.add(prefix.length);
  }

  shorterThan(prefix: string): readonly Field[] {
    const lengths = [...this.#lengths].filter((length) => length < prefix.length);
    return lengths.flatMap((length) => this.#byPrefix.get(prefix.slice(0, length)) ?? []);
  }
}

/** Two matches with equal texts match the same; names do not count. */
function matchText({ value }: Field): string {
  const { name: _, ...match } = value as { readonly name?: unknown };
  return JSON.stringify(match, (_key, inner: unknown) => {
    if (typeof inner !== "object" || inner === null || Array.isArray(inner)) return inner;
    return Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

const prefixOf = (match: Field) => textOf(field(field(match, "uri"), "prefix"));

/** True where every request of one match with a prefix is also one of an earlier match: equal in all but the longer prefix. */
function covers(earlier: Field, later: Field): boolean {
  if (numberOf(field(earlier, "port")) !== numberOf(field(later, "port"))) return false;
  const method = (match: Field) => textMatch(field(match, "method")) || "exact:GET";
  return (
    begins(method(earlier), method(later)) &&
    begins(textMatch(field(earlier, "authority")), textMatch(field(later, "authority"))) &&
    ["headers", "queryParams", "withoutHeaders"].every((name) => coversMap(earlier, later, name))
  );
}

const begins = (earlier: string, later: string) => earlier.startsWith(later);

function coversMap(earlier: Field, later: Field, name: string): boolean {
  const others = new Map(entries(later, name).map(([key, match]) => [key, textMatch(match)] as const));
  const own = entries(earlier, name);
  return own.length === others.size && own.every(([key, match]) => begins(textMatch(match), others.get(key) ?? "\n"));
}

function textMatch(match: Field): string {
  const kind = ["exact", "prefix"].find((one) => isSet(field(match, one)) && textOf(field(match, one)) !== "");
  return kind === undefined ? "" : `${kind}:${textOf(field(match, kind))}`;
}
