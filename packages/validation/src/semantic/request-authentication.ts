/** RequestAuthentications: who issues tokens, with which keys they are verified, and where requests carry them. */
import { isObject } from "@flotilla/model";
import type { Problem } from "../problem.ts";
import { type Field, field, isSet, items, refuseIf, textOf, texts, warnIf } from "./shared/field.ts";
import { quoted } from "./shared/names.ts";
import { targetProblems } from "./shared/selectors.ts";
import { durationProblems } from "./shared/values.ts";

export function validateRequestAuthentication(spec: Field): readonly Problem[] {
  return [...targetProblems(spec), ...items(spec, "jwtRules").flatMap(ruleProblems)];
}

function ruleProblems(rule: Field): readonly Problem[] {
  const issuer = field(rule, "issuer");
  const uri = field(rule, "jwksUri");
  return [
    ...refuseIf(textOf(issuer) === "" && textOf(uri) === "", rule, "needs issuer or jwksUri"),
    ...["audiences", "fromParams", "fromCookies"].flatMap((name) =>
      texts(rule, name).flatMap((one) => refuseIf(one.value === "", one, "must not be empty")),
    ),
    ...(textOf(uri) === "" ? [] : keysUriProblems(uri)),
    ...keysProblems(field(rule, "jwks")),
    ...items(rule, "fromHeaders")
      .map((header) => field(header, "name"))
      .flatMap((name) => refuseIf(textOf(name) === "", name, "must not be empty")),
    ...items(rule, "outputClaimToHeaders").flatMap(claimHeaderProblems),
    ...durationProblems(field(rule, "timeout")),
  ];
}

function keysUriProblems(uri: Field): readonly Problem[] {
  const text = textOf(uri);
  const isUri = /^https?:\/\//i.test(text) && URL.canParse(text);
  return refuseIf(!isUri, uri, `${quoted(text)} is no URI with http:// or https://`);
}

function claimHeaderProblems(output: Field): readonly Problem[] {
  const header = field(output, "header");
  const claim = field(output, "claim");
  return [
    ...refuseIf(!/^[-_A-Za-z0-9]+$/.test(textOf(header)), header, `${quoted(textOf(header))} is no name of a header`),
    ...refuseIf(textOf(claim) === "", claim, "must not be empty"),
  ];
}

/** A set of keys in JSON, or one key. */
function keysProblems(keys: Field): readonly Problem[] {
  if (textOf(keys) === "") return [];
  const parsed = parseJson(textOf(keys));
  if (!isObject(parsed)) return refuseIf(true, keys, "is no JSON object");
  const set: Field = { value: parsed, path: keys.path };
  const members = isSet(field(set, "keys")) ? items(set, "keys") : [set];
  return members.flatMap((key, index) => {
    const type = textOf(field(key, "kty"));
    const fields = keyFields.get(type);
    if (fields === undefined) return refuseIf(true, keys, `key ${index} has the unknown type ${quoted(type)}`);
    const missing = fields.find((name) => textOf(field(key, name)) === "");
    const isPrivate = type === "oct" || textOf(field(key, "d")) !== "";
    return [
      ...refuseIf(missing !== undefined, keys, `key ${index} of type ${type} has no ${missing}`),
      ...warnIf(isPrivate, keys, `key ${index} is a private key, tokens are verified with public ones`),
    ];
  });
}

/** Fields that keys of a type have at least (RFC 7518, RFC 8037). */
const keyFields: ReadonlyMap<string, readonly string[]> = new Map([
  ["RSA", ["n", "e"]],
  ["EC", ["crv", "x", "y"]],
  ["OKP", ["crv", "x"]],
  ["oct", ["k"]],
]);

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
