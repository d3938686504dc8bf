/**
 * The public keys of an issuer, from a file or a URI. Loaded when first needed, again when they are old and when a token names
 * a key that is not among them; the last good set stays in force while loading fails.
 */
import { readFile } from "node:fs/promises";
import { ageMs, type Logger } from "@flotilla/runtime";
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";
import { AuthError } from "../errors.ts";

/** Fetches the key set of an issuer; may reject, the last good set stays in force then. */
export type LoadKeys = () => Promise<JSONWebKeySet>;

/** Where keys come from and how long a set is used, in milliseconds. */
export interface KeySourceOptions {
  readonly load: LoadKeys;
  /** For the log. */
  readonly from: string;
  readonly nowMs: () => number;
  readonly log: Logger;
  /** A set older than this is loaded again before it is used; a key that left the set is refused then. */
  readonly maxAgeMs: number;
  /** Tokens with unknown keys make it load at most this often. */
  readonly cooldownMs: number;
}

/**
 * The key set as `jose` asks for it. A token with an unknown key makes it load again at most once in `cooldownMs`, so
 * that forged tokens cause no load at the issuer.
 */
export function createKeySource(options: KeySourceOptions): JWTVerifyGetKey {
  const { load, from, nowMs, log, maxAgeMs, cooldownMs } = options;
  let keys: JWTVerifyGetKey | undefined;
  let loadedMs = Number.NEGATIVE_INFINITY;
  let triedMs = Number.NEGATIVE_INFINITY;
  let loading: Promise<void> | undefined;
  let logged = "";

  const reload = async (): Promise<void> => {
    triedMs = nowMs();
    try {
      const loaded = createLocalJWKSet(await load());
      if (keys === undefined) log.info("issuer keys loaded", { from });
      keys = loaded;
      loadedMs = triedMs;
      logged = "";
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      // The same trouble is reported once, not for each token.
      if (why !== logged)
        log.warn(keys === undefined ? "issuer keys missing" : "issuer keys not renewed", { from, error });
      logged = why;
    }
  };
  // One load serves all that wait for it.
  const loadOnce = (): Promise<void> => {
    loading ??= reload().finally(() => {
      loading = undefined;
    });
    return loading;
  };
  const mayTry = (): boolean => loading !== undefined || ageMs(triedMs, nowMs()) >= cooldownMs;

  return async (header, token) => {
    const isOld = ageMs(loadedMs, nowMs()) >= maxAgeMs;
    if (isOld && mayTry()) await loadOnce();
    if (keys === undefined) throw new AuthError("AUTH_BAD_JWKS", `no keys from ${from}`);
    try {
      return await keys(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey) || !mayTry()) throw error;
      await loadOnce();
      return keys(header, token);
    }
  };
}

/** @throws AuthError AUTH_BAD_JWKS */
export function keysFromFile(file: string): LoadKeys {
  return async () => parseJwks(await readFile(file, "utf8"), file);
}

const maxJwksBytes = 1_048_576;

/** @throws AuthError AUTH_BAD_JWKS */
export function keysFromUri(uri: string, timeoutMs = 5000): LoadKeys {
  return async () => parseJwks(await fetchText(uri, timeoutMs), uri);
}

/** The keys that the issuer's OpenID configuration points at. @throws AuthError AUTH_BAD_JWKS */
export function keysByDiscovery(issuer: string, timeoutMs = 5000): LoadKeys {
  const from = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  return async () => {
    const configuration = JSON.parse(await fetchText(from, timeoutMs)) as { issuer?: unknown; jwks_uri?: unknown };
    if (configuration.issuer !== issuer || typeof configuration.jwks_uri !== "string")
      throw new AuthError("AUTH_BAD_JWKS", `${from} is not the configuration of ${issuer}`);
    return keysFromUri(configuration.jwks_uri, timeoutMs)();
  };
}

async function fetchText(uri: string, timeoutMs: number): Promise<string> {
  const response = await fetch(uri, { signal: AbortSignal.timeout(timeoutMs), redirect: "error" });
  if (!response.ok) throw new AuthError("AUTH_BAD_JWKS", `${uri} answers ${response.status}`);
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > maxJwksBytes) throw new AuthError("AUTH_BAD_JWKS", `${uri} answers more than ${maxJwksBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parseJwks(text: string, from: string): JSONWebKeySet {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new AuthError("AUTH_BAD_JWKS", `${from} is not JSON`);
  }
  // The name is written `Keys` by some encoders.
  const { keys, Keys } = value as { keys?: unknown; Keys?: unknown };
  const list = keys ?? Keys;
  if (!Array.isArray(list)) throw new AuthError("AUTH_BAD_JWKS", `${from} holds no list of keys`);
  return { keys: list };
}
