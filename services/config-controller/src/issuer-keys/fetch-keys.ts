/** The key set of an issuer, by its URI or by the issuer's OpenID configuration, checked before it goes to proxies. */
import { openIdConfigurationOf } from "@flotilla/auth";
import { isObject } from "@flotilla/model";
import type { FetchDocument } from "./guarded-fetch.ts";
import { unusable } from "./key-errors.ts";

/** Gives the set as it was fetched. @throws IssuerKeysError */
export async function fetchKeys(
  source: string,
  fetchDocument: FetchDocument,
  timeoutMs: number,
  stop: AbortSignal,
): Promise<string> {
  const configuration = openIdConfigurationOf(source);
  const uri = configuration === undefined ? source : keysUriOf(await fetchDocument(configuration, timeoutMs, stop));
  return checkedKeySet(await fetchDocument(uri, timeoutMs, stop));
}

function keysUriOf(text: string): string {
  const uri = parsed(text)["jwks_uri"];
  if (typeof uri !== "string") throw unusable("has an OpenID configuration without jwks_uri");
  return uri;
}

/** Members of keys that only their owner may have (RFC 7518, section 6). */
const privateMembers = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/** Other content behind a URI must not end up in listeners, where debug pages show it. */
export function checkedKeySet(text: string): string {
  const { keys } = parsed(text);
  if (!Array.isArray(keys) || keys.length === 0) throw unusable("answers with no list of keys");
  for (const key of keys) {
    if (!isObject(key) || typeof key["kty"] !== "string") throw unusable("answers with keys that are none");
    if (privateMembers.some((member) => Object.hasOwn(key, member))) throw unusable("answers with private keys");
  }
  return text;
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch (error) {
    throw unusable("answers with what is no JSON", error);
  }
}
