/** Envoy's matchers of texts and of metadata. Expressions are RE2's, which match in linear time. */
import { ownValue } from "@flotilla/model";
import type { JsonObject, JsonValue } from "@flotilla/proto";
import { RE2JS } from "re2js";
import { at, objectsAt, textAt } from "./json.ts";
import { every, type Judgement, not, some } from "./judgement.ts";

/** Bounds what compiling one costs. */
const maxExpressionLength = 4096;

/** Undefined for what RE2 does not take. */
export function expressionOf(text: string): RE2JS | undefined {
  if (text.length > maxExpressionLength) return undefined;
  try {
    return RE2JS.compile(text);
  } catch {
    // Envoy would have rejected it: the caller reports that it is not judged.
    return undefined;
  }
}

/** The whole text must match. */
export function matchesExpression(expression: string, text: string): Judgement {
  return expressionOf(expression)?.matches(text) ?? { doubt: `the expression ${expression}` };
}

/** `envoy.type.matcher.v3.StringMatcher` */
export function matchesText(matcher: JsonValue | undefined, text: string): Judgement {
  const regex = textAt(matcher, "safeRegex", "regex");
  if (regex !== "") return matchesExpression(regex, text);
  if (at(matcher, "custom") !== undefined) return { doubt: "a matcher that is an extension" };
  const folds = at(matcher, "ignoreCase") === true;
  const folded = (value: string) => (folds ? value.toLowerCase() : value);
  const asked = folded(text);
  const wanted = (key: string) => {
    const value = at(matcher, key);
    return typeof value === "string" ? folded(value) : undefined;
  };
  const [prefix, suffix, contains] = [wanted("prefix"), wanted("suffix"), wanted("contains")];
  if (prefix !== undefined) return asked.startsWith(prefix);
  if (suffix !== undefined) return asked.endsWith(suffix);
  if (contains !== undefined) return asked.includes(contains);
  return asked === (wanted("exact") ?? "");
}

/** Words for a matcher of texts: `begins with /api`. */
export function describeText(matcher: JsonValue | undefined): string {
  const words: readonly (readonly [string, string])[] = [
    ["prefix", "begins with"],
    ["suffix", "ends with"],
    ["contains", "contains"],
  ];
  const regex = textAt(matcher, "safeRegex", "regex");
  if (regex !== "") return `matches ${regex}`;
  for (const [key, word] of words) if (textAt(matcher, key) !== "") return `${word} ${textAt(matcher, key)}`;
  return `is ${textAt(matcher, "exact")}`;
}

/** Metadata of a request, by the filter that writes it. */
export type Metadata = ReadonlyMap<string, JsonObject>;

const tokenFilter = "envoy.filters.http.jwt_authn";

/** `envoy.type.matcher.v3.MetadataMatcher`; of filters other than that of tokens nothing is known. */
export function matchesMetadata(matcher: JsonValue | undefined, metadata: Metadata): Judgement {
  const filter = textAt(matcher, "filter");
  const path = objectsAt(matcher, "path").map((segment) => textAt(segment, "key"));
  if (filter !== tokenFilter && !metadata.has(filter)) return { doubt: `metadata of ${filter}` };
  let value: JsonValue | undefined = metadata.get(filter);
  for (const key of path)
    value = typeof value === "object" && value !== null && !Array.isArray(value) ? ownValue(value, key) : undefined;
  const matches = matchesValue(at(matcher, "value"), value);
  return at(matcher, "invert") === true ? not(matches) : matches;
}

function matchesValue(matcher: JsonValue | undefined, value: JsonValue | undefined): Judgement {
  const either = objectsAt(matcher, "orMatch", "valueMatchers");
  if (either.length > 0) return some(either.map((one) => matchesValue(one, value)));
  const oneOf = at(matcher, "listMatch", "oneOf");
  if (oneOf !== undefined) return Array.isArray(value) && some(value.map((item) => matchesValue(oneOf, item)));
  const string = at(matcher, "stringMatch");
  if (string !== undefined) return typeof value === "string" && matchesText(string, value);
  const isWanted = at(matcher, "boolMatch");
  if (isWanted !== undefined) return value === isWanted;
  const isPresent = at(matcher, "presentMatch");
  if (isPresent !== undefined) return (value !== undefined) === isPresent;
  return { doubt: "a matcher of metadata that is neither text, list nor presence" };
}

/** `envoy.config.route.v3.HeaderMatcher`, also of query parameters. An absent value matches nothing, also not the opposite, unless it counts as empty. */
export function matchesNamed(matcher: JsonObject, value: string | undefined): Judgement {
  const present = value ?? (matcher["treatMissingHeaderAsEmpty"] === true ? "" : undefined);
  const isInverted = matcher["invertMatch"] === true;
  const wantsPresence = at(matcher, "presentMatch");
  const asked = askedOf(matcher);
  if (asked === undefined) {
    const isThere = (value !== undefined) === (wantsPresence ?? true);
    return isInverted ? !isThere : isThere;
  }
  if (present === undefined) return false;
  const matches = asked(present);
  return isInverted ? not(matches) : matches;
}

/** Undefined: it asks for presence alone. */
function askedOf(matcher: JsonObject): ((value: string) => Judgement) | undefined {
  const string = at(matcher, "stringMatch");
  if (string !== undefined) return (value) => matchesText(string, value);
  const range = at(matcher, "rangeMatch");
  if (range !== undefined)
    return (value) => {
      const [start, end] = [Number(textAt(range, "start") || "0"), Number(textAt(range, "end") || "0")];
      return /^-?\d+$/.test(value) && Number(value) >= start && Number(value) < end;
    };
  // The forms of before 1.20, which patches may still write.
  const [exact, prefix, suffix, contains, regex] = ["exact", "prefix", "suffix", "contains", "safeRegex"].map((key) =>
    at(matcher, `${key}Match`),
  );
  const old = Object.entries({ exact, prefix, suffix, contains, safeRegex: regex }).filter(
    ([, one]) => one !== undefined,
  );
  if (old.length === 0) return undefined;
  return (value) => every(old.map(([key, one]) => matchesText({ [key]: one as JsonValue }, value)));
}
