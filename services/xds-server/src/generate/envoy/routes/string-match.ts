/** Istio's string matches in Envoy's form, of texts and of claims of a request's token (`@request.auth.claims.group`, `@request.auth.claims[group][sub]`). */
import { create } from "@flotilla/proto";
import { type MetadataMatcher, MetadataMatcherSchema } from "@flotilla/proto/envoy/type/matcher/v3/metadata_pb";
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

/** True where everything matches: no value, or an expression for anything. */
export function matchesAnything({ matchType }: StringMatch): boolean {
  return matchType.case === undefined || (matchType.case === "regex" && ["", "*"].includes(matchType.value));
}

const prefix = "@request.auth.claims";

export function isClaim(name: string): boolean {
  return name.toLowerCase().startsWith(prefix) && claimPath(name) !== undefined;
}

/** The claim's value, or any of its values if it is a list, must match; undefined when `name` is no claim. */
export function claimMatcher(name: string, match: StringMatch, invert: boolean): MetadataMatcher | undefined {
  const path = isClaim(name) ? claimPath(name) : undefined;
  if (path === undefined) return undefined;
  const value = stringMatcher(match) ?? stringMatcher({ ...match, matchType: { case: "regex", value: ".+" } });
  if (value === undefined) return undefined;
  const one = { matchPattern: { case: "stringMatch", value } } as const;
  return create(MetadataMatcherSchema, {
    filter: "envoy.filters.http.jwt_authn",
    path: ["payload", ...path].map((key) => ({ segment: { case: "key" as const, value: key } })),
    value: {
      matchPattern: {
        case: "orMatch",
        value: {
          valueMatchers: [
            { matchPattern: { case: "listMatch", value: { matchPattern: { case: "oneOf", value: one } } } },
            one,
          ],
        },
      },
    },
    invert,
  });
}

function claimPath(name: string): readonly string[] | undefined {
  const rest = name.slice(prefix.length);
  if (rest.startsWith(".")) return rest.length === 1 ? undefined : rest.slice(1).split(".");
  // Splits the text between the first bracket and the last where one closes and the next opens. Source: corpus pki-auth, ToRoutingClaim.
  return rest.length > 2 && rest.startsWith("[") && rest.endsWith("]") ? rest.slice(1, -1).split("][") : undefined;
}
