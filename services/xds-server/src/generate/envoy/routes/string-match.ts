/** Istio's string matches in Envoy's form. */
import { create } from "@flotilla/proto";
import { type StringMatcher, StringMatcherSchema } from "@flotilla/proto/envoy/type/matcher/v3/string_pb";
import type { StringMatch } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";

/** Undefined for a match without a value, which asks for presence where presence can be asked for. */
export function stringMatcher({ matchType }: StringMatch): StringMatcher | undefined {
  if (matchType.case === undefined) return undefined;
  if (matchType.case === "regex") {
    return create(StringMatcherSchema, { matchPattern: { case: "safeRegex", value: { regex: matchType.value } } });
  }
  return create(StringMatcherSchema, { matchPattern: { case: matchType.case, value: matchType.value } });
}

/** Whether everything matches: no value, or an expression for anything. */
export function matchesAnything({ matchType }: StringMatch): boolean {
  return matchType.case === undefined || (matchType.case === "regex" && ["", "*"].includes(matchType.value));
}
