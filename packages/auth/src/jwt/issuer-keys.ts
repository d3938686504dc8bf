/**
 * Public keys of issuers that RequestAuthentications name by URI, as config-controller publishes them on the bus: one object of the
 * kind IssuerKeys for each place that keys are fetched from.
 */
import { hash } from "node:crypto";
import type { ConfigKey } from "@flotilla/model";

export const issuerKeysKind = "IssuerKeys";

/** The spec of an IssuerKeys object. */
export interface IssuerKeysSpec {
  /** The URI of the keys; of an issuer that has to be asked for it, `openid:` and the issuer. */
  readonly source: string;
  /** The last good set as it was fetched; absent when there is none. */
  readonly jwks?: string;
  /** Why the last attempt brought no keys; absent when it did. */
  readonly error?: string;
  /** The control plane cannot reach the source, or may not; proxies perhaps can. */
  readonly isUnreachable?: boolean;
}

const discovered = "openid:";

/** Where the keys of a rule are fetched from; undefined for rules that hold their keys, and for issuers that are no URL. */
export function issuerKeysSource(rule: {
  readonly issuer?: string;
  readonly jwks?: string;
  readonly jwksUri?: string;
}): string | undefined {
  const { issuer = "", jwks = "", jwksUri = "" } = rule;
  if (jwks !== "") return undefined;
  if (jwksUri !== "") return jwksUri;
  return /^https?:\/\//i.test(issuer) ? `${discovered}${issuer}` : undefined;
}

/** The document that names the URI of the keys; undefined where the source is their URI. */
export function openIdConfigurationOf(source: string): string | undefined {
  if (!source.startsWith(discovered)) return undefined;
  return `${source.slice(discovered.length).replace(/\/$/, "")}/.well-known/openid-configuration`;
}

/** URIs are longer than names of objects may be, and have other characters. */
export function issuerKeysKey(source: string): ConfigKey {
  return { kind: issuerKeysKind, namespace: "", name: hash("sha256", source).slice(0, 32) };
}
