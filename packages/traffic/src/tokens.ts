/** Decides about requests as `envoy.filters.http.jwt_authn` does, with the claims of a valid token or without a token. */
import { ownValue } from "@flotilla/model";
import type { JsonObject, JsonValue } from "@flotilla/proto";
import { at, objectsAt, textAt, textsAt } from "./json.ts";
import { every, isDoubt, type Judgement, some } from "./judgement.ts";
import { type Metadata, matchesExpression } from "./text-match.ts";

const tokenFilter = "envoy.filters.http.jwt_authn";
const tokenType = ".extensions.filters.http.jwt_authn.v3.JwtAuthentication";

/** True for the filter that checks tokens, whatever its name. */
export function isTokenFilter(filter: JsonObject): boolean {
  return textAt(filter, "typedConfig", "@type").endsWith(tokenType);
}

/** The metadata that filters after it see: claims of a token that one of its providers accepts. */
export function tokenMetadata(manager: JsonObject, claims: JsonObject | undefined): Metadata {
  const filter = objectsAt(manager, "typedConfig", "httpFilters").find(isTokenFilter);
  const provider = claims && filter && providersOf(filter).find(([, one]) => accepts(one, claims))?.[1];
  const field = textAt(provider, "payloadInMetadata");
  if (claims === undefined || provider === undefined || field === "") return new Map([[tokenFilter, {}]]);
  const divided = textsAt(provider, "normalizePayloadInMetadata", "spaceDelimitedClaims");
  const normal = Object.fromEntries(
    Object.entries(claims).map(([name, value]): [string, JsonValue] => [
      name,
      divided.includes(name) && typeof value === "string" ? value.split(" ") : value,
    ]),
  );
  return new Map([[tokenFilter, { [field]: normal }]]);
}

function providersOf(filter: JsonObject): readonly (readonly [string, JsonValue])[] {
  const providers = at(filter, "typedConfig", "providers");
  return typeof providers === "object" && providers !== null && !Array.isArray(providers)
    ? Object.entries(providers)
    : [];
}

function accepts(provider: JsonValue, claims: JsonObject): boolean {
  const issuer = textAt(provider, "issuer");
  const audiences = textsAt(provider, "audiences");
  const given = [ownValue(claims, "aud") ?? []].flat().map(String);
  return (
    (issuer === "" || issuer === ownValue(claims, "iss")) &&
    (audiences.length === 0 || audiences.some((one) => given.includes(one)))
  );
}

export interface TokenVerdict {
  readonly passes: Judgement;
  /** A sentence. */
  readonly reason: string;
}

/** @param path without its query */
export function judgeToken(filter: JsonObject, path: string, claims: JsonObject | undefined): TokenVerdict {
  const rule = objectsAt(filter, "typedConfig", "rules").find((one) => isOfPath(at(one, "match"), path) !== false);
  const matches = isOfPath(at(rule, "match"), path);
  if (rule === undefined) return { passes: true, reason: "No rule about tokens is for this path." };
  if (isDoubt(matches)) return { passes: matches, reason: `It depends on ${matches.doubt}.` };
  const providers = new Map(providersOf(filter));
  const requirement = at(rule, "requires");
  const passes = requirement === undefined || satisfies(requirement, providers, claims);
  const issuers = [...providers.values()].map((one) => textAt(one, "issuer")).join(", ");
  if (isDoubt(passes)) return { passes, reason: `It depends on ${passes.doubt}.` };
  if (claims === undefined)
    return { passes, reason: passes ? "The request has no token, and needs none here." : "A token is required." };
  const issuer = String(ownValue(claims, "iss") ?? "");
  return {
    passes,
    reason: passes ? `Takes the token of ${issuer}.` : `Takes tokens of ${issuers}, not of ${issuer || "no issuer"}.`,
  };
}

function isOfPath(match: JsonValue | undefined, path: string): Judgement {
  const [exact, prefix, regex] = [textAt(match, "path"), textAt(match, "prefix"), textAt(match, "safeRegex", "regex")];
  if (match === undefined) return true;
  if (exact !== "") return path === exact;
  if (regex !== "") return matchesExpression(regex, path);
  return prefix !== "" ? path.startsWith(prefix) : { doubt: "a match of paths that is an extension" };
}

/** A request without a token satisfies what allows that it is missing. */
function satisfies(
  requirement: JsonValue,
  providers: ReadonlyMap<string, JsonValue>,
  claims: JsonObject | undefined,
): Judgement {
  const of = (kind: string) =>
    objectsAt(requirement, kind, "requirements").map((one) => satisfies(one, providers, claims));
  if (at(requirement, "requiresAny") !== undefined) return some(of("requiresAny"));
  if (at(requirement, "requiresAll") !== undefined) return every(of("requiresAll"));
  if (at(requirement, "allowMissingOrFailed") !== undefined) return true;
  if (at(requirement, "allowMissing") !== undefined) return claims === undefined;
  const name = textAt(requirement, "providerName") || textAt(requirement, "providerAndAudiences", "providerName");
  const provider = providers.get(name);
  if (provider === undefined) return { doubt: "a requirement of tokens of another form" };
  return claims !== undefined && accepts(provider, claims);
}
