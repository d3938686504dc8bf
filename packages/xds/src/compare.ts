/** Compares two resources of one name field by field, in the words of Envoy's fields. */
import { isJsonObject, type JsonObject, type JsonValue } from "@flotilla/proto";

export interface Difference {
  readonly path: string;
  readonly want: JsonValue | undefined;
  readonly got: JsonValue | undefined;
}

export interface Rules {
  /** Paths that are left out. */
  readonly ignored: readonly PathPattern[];
  /** Lists whose order makes no difference. */
  readonly unordered: readonly PathPattern[];
}

interface PathPattern {
  readonly type: string | undefined;
  readonly pattern: RegExp;
}

/** A rule a line: `[unordered] [type/]path`; `*` within a segment, `**` across segments, `[*]` any index. */
export function parseRules(text: string): Rules {
  const rules: { ignored: PathPattern[]; unordered: PathPattern[] } = { ignored: [], unordered: [] };
  for (const line of text.split("\n").map((line) => line.trim())) {
    if (line === "" || line.startsWith("#")) continue;
    const unordered = line.startsWith("unordered ");
    (unordered ? rules.unordered : rules.ignored).push(
      parsePattern(unordered ? line.slice("unordered ".length) : line),
    );
  }
  return rules;
}

function parsePattern(text: string): PathPattern {
  const [, type, path = text] = /^([a-z]+)\/(.*)$/.exec(text) ?? [];
  const source = path
    .replaceAll(/[.[\]]/g, "\\$&")
    .replaceAll("**\\.", "(?:.*\\.)?")
    .replaceAll("\\[*\\]", "\\[\\d+\\]")
    .replaceAll(/(?<![.)])\*(?!\))/g, "[^.]*");
  return { type, pattern: new RegExp(`^${source}$`) };
}

/** The differing fields, at most one for each path; none when the two are identical. */
export function compareResources(type: string, want: JsonObject, got: JsonObject, rules: Rules): readonly Difference[] {
  const differences: Difference[] = [];
  const matches = (patterns: readonly PathPattern[], path: string) =>
    patterns.some((rule) => (rule.type === undefined || rule.type === type) && rule.pattern.test(path));
  const visit = (path: string, a: JsonValue | undefined, b: JsonValue | undefined): void => {
    if (path !== "" && matches(rules.ignored, path)) return;
    if (Array.isArray(a) && Array.isArray(b)) {
      const [left, right] = matches(rules.unordered, path) ? [sorted(a), sorted(b)] : [a, b];
      for (let i = 0; i < Math.max(left.length, right.length); i++) visit(`${path}[${i}]`, left[i], right[i]);
    } else if (isJsonObject(a) && isJsonObject(b)) {
      const [left, right] = [new Map(Object.entries(a)), new Map(Object.entries(b))];
      for (const key of new Set([...left.keys(), ...right.keys()]))
        visit(join(path, key), left.get(key), right.get(key));
    } else if (a !== b) {
      differences.push({ path, want: a, got: b });
    }
  };
  visit("", want, got);
  return differences;
}

function sorted(items: readonly JsonValue[]): readonly JsonValue[] {
  return [...items]
    .map((item) => [JSON.stringify(item, byKey), item] as const)
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([, item]) => item);
}

/** Equal objects have equal texts, in whatever order their fields came. */
function byKey(_: string, value: JsonValue): JsonValue {
  return isJsonObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value;
}

function join(path: string, key: string): string {
  const segment = /[.[\]]/.test(key) ? `["${key}"]` : key;
  return path === "" ? segment : segment.startsWith("[") ? path + segment : `${path}.${segment}`;
}
