/** A rule's conditions on the caller, as Envoy's principals. Principals of the mesh's trust domain are meant under its aliases too. */
import { quoteRegex } from "@flotilla/model";
import { create } from "@flotilla/proto";
import { type Principal, PrincipalSchema } from "@flotilla/proto/envoy/config/rbac/v3/rbac_pb";
import type { StringMatcher } from "@flotilla/proto/envoy/type/matcher/v3/string_pb";
import { peerPrincipalKey } from "../../hbone/filter-state.ts";
import { type Field, isHttpOnly, type Matching, NotForTcp } from "./rule.ts";
import {
  anyOf,
  cidrRange,
  headerMatcher,
  listHolding,
  metadataMatcher,
  regex,
  stringMatcher,
  valueMatcher,
} from "./values.ts";

const jwtFilter = "envoy.filters.http.jwt_authn";

export function principal(fields: readonly Field[], matching: Matching): Principal {
  const all = fields.flatMap((field) => fieldPrincipals(field, matching));
  return and(all.length === 0 ? [create(PrincipalSchema, { identifier: { case: "any", value: true } })] : all);
}

export const neverPrincipal: Principal = not(create(PrincipalSchema, { identifier: { case: "any", value: true } }));

function fieldPrincipals({ key, values, notValues }: Field, matching: Matching): readonly Principal[] {
  if (matching.tcp && isHttpOnly(key)) {
    if (matching.widens) return [];
    throw new NotForTcp(key);
  }
  return [
    ...(values.length === 0 ? [] : oneOf(key, values, matching)),
    ...(notValues.length === 0 ? [] : oneOf(key, notValues, matching).map(not)),
  ];
}

function oneOf(key: string, values: readonly string[], matching: Matching): readonly Principal[] {
  const claim = claimPath(key);
  if (claim !== undefined) return [claimPrincipal(claim, values)];
  if (key === "request.auth.principal") {
    const [only, ...more] = values.map(requestPrincipal);
    if (only !== undefined && more.length === 0) return [only];
    return [or([...(only === undefined ? [] : [only]), ...more])];
  }
  const ids = withAliases(key, values, matching.trustDomains).flatMap((value) => single(key, value, matching) ?? []);
  return ids.length === 0 ? [] : [or(ids)];
}

function single(key: string, value: string, { namespace, callersBy }: Matching): Principal | undefined {
  const header = /^request\.headers\[(.+)\]$/.exec(key)?.[1];
  if (header !== undefined)
    return create(PrincipalSchema, { identifier: { case: "header", value: headerMatcher(header, value) } });
  switch (key) {
    case "serviceAccounts":
    case "source.serviceAccount":
      return caller(callersBy, serviceAccount(value, namespace));
    case "source.principal":
      return caller(callersBy, stringMatcher(value, "spiffe://"));
    case "source.namespace":
      return caller(callersBy, regex(`.*/ns/${quoteRegex(value).replaceAll("\\*", ".*")}/.*`));
    case "source.trustDomain":
      return caller(callersBy, trustDomain(value));
    case "remote.ip":
    case "source.ip": {
      const range = cidrRange(value);
      const kind = key === "source.ip" ? "directRemoteIp" : "remoteIp";
      return range && create(PrincipalSchema, { identifier: { case: kind, value: range } });
    }
    default:
      return undefined;
  }
}

function serviceAccount(value: string, policyNamespace: string): StringMatcher {
  const [first = "", second] = value.split("/");
  const [namespace, name] = second === undefined ? [policyNamespace, first] : [first, second];
  return regex(`spiffe://.+/ns/${quoteRegex(namespace)}/(.+/|)sa/${quoteRegex(name)}(/.+)?`);
}

function trustDomain(value: string): StringMatcher {
  return value.includes("*")
    ? regex(`spiffe://${quoteRegex(value).replaceAll("\\*", "[^/]*")}/.*`)
    : stringMatcher(`spiffe://${value}/*`);
}

/** `issuer/subject`; a wildcard without a slash speaks of the end it stands at. */
function requestPrincipal(value: string): Principal {
  const slash = value.lastIndexOf("/");
  const [issuer, subject] =
    slash >= 0
      ? [value.slice(0, slash), value.slice(slash + 1)]
      : value.endsWith("*")
        ? [value, "*"]
        : value.startsWith("*")
          ? ["*", value]
          : [value, ""];
  return and([jwtText("iss", issuer), jwtText("sub", subject)]);
}

function jwtText(claim: string, value: string): Principal {
  const matcher = metadataMatcher(jwtFilter, ["payload", claim], valueMatcher(stringMatcher(value)));
  return create(PrincipalSchema, { identifier: { case: "metadata", value: matcher } });
}

function claimPath(key: string): readonly string[] | undefined {
  if (key === "request.auth.audiences") return ["aud"];
  if (key === "request.auth.presenter") return ["azp"];
  const names = /^request\.auth\.claims((?:\[[^\]]+\])+)$/.exec(key)?.[1];
  return names?.slice(1, -1).split("][");
}

/** A claim may hold one value or a list. */
function claimPrincipal(path: readonly string[], values: readonly string[]): Principal {
  const value = anyOf(values.map((one) => valueMatcher(stringMatcher(one))));
  const matcher = metadataMatcher(jwtFilter, ["payload", ...path], anyOf([listHolding(value), value]));
  return create(PrincipalSchema, { identifier: { case: "metadata", value: matcher } });
}

function caller(by: Matching["callersBy"], name: StringMatcher): Principal {
  if (by !== "tunnel") return authenticated(name);
  const value = { key: peerPrincipalKey, matcher: { case: "stringMatch" as const, value: name } };
  return create(PrincipalSchema, { identifier: { case: "filterState", value } });
}

function authenticated(principalName: StringMatcher): Principal {
  return create(PrincipalSchema, { identifier: { case: "authenticated", value: { principalName } } });
}

function and(ids: Principal[]): Principal {
  return create(PrincipalSchema, { identifier: { case: "andIds", value: { ids } } });
}

function or(ids: Principal[]): Principal {
  return create(PrincipalSchema, { identifier: { case: "orIds", value: { ids } } });
}

function not(id: Principal): Principal {
  return create(PrincipalSchema, { identifier: { case: "notId", value: id } });
}

/** Stands for the mesh's own trust domain, whatever it is called. */
const localDomain = "cluster.local";

/** A name of the mesh's trust domain stands for all of them. */
function withAliases(key: string, values: readonly string[], trustDomains: readonly string[]): readonly string[] {
  if (key === "source.principal") return inTrustDomains(values, trustDomains);
  if (key !== "source.trustDomain") return values;
  return [...new Set(values.flatMap((value) => (trustDomains.includes(value) ? trustDomains : [value])))];
}

export function inTrustDomains(principals: readonly string[], trustDomains: readonly string[]): readonly string[] {
  if (trustDomains.length === 0) return principals;
  return principals.flatMap((principal) => [...new Set(spellings(principal, trustDomains))]);
}

function spellings(principal: string, trustDomains: readonly string[]): readonly string[] {
  const slash = principal.indexOf("/");
  const named = principal.slice(0, Math.max(slash, 0));
  // Only what is an identity in full: `domain/ns/NAMESPACE/sa/ACCOUNT`.
  if (named === "*" || principal.split("/").length !== 5) return [principal];
  const isNamed = (domain: string) => (named.startsWith("*") ? domain.endsWith(named.slice(1)) : domain === named);
  if (named !== localDomain && !trustDomains.some(isNamed)) return [principal];
  return trustDomains.map((domain) => (isNamed(domain) ? principal : domain + principal.slice(slash)));
}
