/** Matches of routes that earlier, wider ones take, beyond what validation warns of: that compares equal matches and prefixes. */
import { equalJson, matchesLabels } from "@flotilla/model";
import { entries, type Field, field, isSet, items, numberOf, textOf, texts } from "@flotilla/validation/field";
import type { Analyzer } from "../analyzer.ts";
import { finding } from "../finding.ts";
import { labelsOf } from "../shared/workloads.ts";

/** Of so many matches each is compared with all before it: a bound on the time for generated routes. */
const mostMatches = 300;

/** istioctl has no such analyzer: its messages IST0130 and IST0131 are about equal matches and prefixes. */
export const shadowedMatches: Analyzer = {
  name: "shadowed-matches",
  summary: "matches that earlier, wider ones take",
  messages: ["ShadowedMatch"],
  checks: ["VirtualService"],
  reads: [],
  check: (route) => {
    const matches = items(route.spec, "http").flatMap((rule) => items(rule, "match"));
    return matches.slice(0, mostMatches).flatMap((match, at) => {
      const earlier = matches.slice(0, at).find((one) => takes(one, match));
      return earlier === undefined ? [] : [finding("ShadowedMatch", route, match, { earlier: earlier.path })];
    });
  },
};

/** True where the earlier match takes every request of the later one and validation has no warning for the two. */
function takes(earlier: Field, later: Field): boolean {
  if (
    equalJson(earlier.value, later.value) ||
    (kindOf(earlier, "uri") === "prefix" && kindOf(later, "uri") === "prefix")
  )
    return false;
  return (
    takesPath(earlier, later) &&
    ["authority", "method", "scheme"].every((name) => takesText(field(earlier, name), field(later, name))) &&
    ["headers", "queryParams"].every((name) => takesMap(earlier, later, name)) &&
    takesRest(earlier, later)
  );
}

type TextMatch = "exact" | "prefix" | "regex";

function kindOf(match: Field, name: string): TextMatch | undefined {
  const kinds: readonly TextMatch[] = ["exact", "prefix", "regex"];
  return kinds.find((kind) => isSet(field(field(match, name), kind)));
}

function takesPath(earlier: Field, later: Field): boolean {
  const ignoresCase = (match: Field) => field(match, "ignoreUriCase").value === true;
  const [wide, narrow] = [field(earlier, "uri"), field(later, "uri")];
  if (textOf(field(wide, "prefix")) === "/" && !isSet(narrow)) return true;
  return (!ignoresCase(later) || ignoresCase(earlier) || !isSet(wide)) && takesText(wide, narrow);
}

/** True where the wide match takes all texts that the narrow one takes; an unset match takes everything. */
function takesText(wide: Field, narrow: Field): boolean {
  if (!isSet(wide)) return true;
  const own = (match: Field, kind: TextMatch) => (isSet(field(match, kind)) ? textOf(field(match, kind)) : undefined);
  const [exact, prefix, regex] = [own(wide, "exact"), own(wide, "prefix"), own(wide, "regex")];
  if (exact !== undefined) return own(narrow, "exact") === exact;
  if (prefix !== undefined) return (own(narrow, "exact") ?? own(narrow, "prefix"))?.startsWith(prefix) === true;
  return regex === ".*" ? isSet(narrow) : regex !== undefined && own(narrow, "regex") === regex;
}

/** A header without a condition has to be there, whatever its value. */
function takesMap(earlier: Field, later: Field, name: string): boolean {
  const narrow = new Map(entries(later, name));
  return entries(earlier, name).every(([key, wide]) => {
    const other = narrow.get(key);
    const isPresence = ["exact", "prefix", "regex"].every((kind) => !isSet(field(wide, kind)));
    return other !== undefined && (isPresence || takesText(wide, other));
  });
}

function takesRest(earlier: Field, later: Field): boolean {
  const without = new Map(entries(later, "withoutHeaders"));
  const gateways = texts(earlier, "gateways").map(({ value }) => value);
  const others = texts(later, "gateways").map(({ value }) => value);
  const [port, namespace] = [numberOf(field(earlier, "port")), textOf(field(earlier, "sourceNamespace"))];
  return (
    entries(earlier, "withoutHeaders").every(([key, match]) => equalJson(match.value, without.get(key)?.value)) &&
    (gateways.length === 0 || (others.length > 0 && others.every((one) => gateways.includes(one)))) &&
    (port === 0 || port === numberOf(field(later, "port"))) &&
    (namespace === "" || namespace === textOf(field(later, "sourceNamespace"))) &&
    matchesLabels(labelsOf(field(earlier, "sourceLabels")) ?? {}, labelsOf(field(later, "sourceLabels")) ?? {})
  );
}
