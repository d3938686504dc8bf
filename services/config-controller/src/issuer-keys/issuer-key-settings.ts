/** Settings of the keys of issuers, by istiod's names where it has one. */
import { readFileSync } from "node:fs";
import { getCACertificates } from "node:tls";
import { duration, list, oneOf, type Setting, type SettingOptions, type SettingsOf, text } from "@flotilla/runtime";
import { addressRules, parseRange } from "./address-rules.ts";
import { fetchKeys } from "./fetch-keys.ts";
import { proxyOf, proxyUrl } from "./forward-proxy.ts";
import { guardedFetch } from "./guarded-fetch.ts";
import type { IssuerKeysOptions } from "./issuer-keys.ts";

export const issuerKeySettings = {
  remoteJwks: oneOf({
    env: "PILOT_JWT_ENABLE_REMOTE_JWKS",
    default: "false",
    values: ["false", "istiod", "true", "hybrid", "envoy"],
    sentence:
      "Component that fetches keys of issuers by URI. false, istiod: the control plane. true, hybrid: proxies, where the host is a service of the mesh. envoy: proxies.",
  }),
  jwksRefreshMs: duration({
    env: "PILOT_JWT_PUB_KEY_REFRESH_INTERVAL",
    default: 1_200_000,
    min: 1_000,
    max: 86_400_000,
    sentence: "Refresh interval of issuers' keys, ±10 %.",
  }),
  allowedJwksRanges: ranges({
    env: "ALLOWED_CIDRS_IN_JWKS_URIS",
    default: [],
    sentence:
      "Ranges of private, loopback or link-local addresses that keys of issuers may be fetched from, separated by commas.",
  }),
  blockedJwksRanges: ranges({
    env: "BLOCKED_CIDRS_IN_JWKS_URIS",
    default: [],
    sentence: "Further ranges of addresses that keys of issuers are not fetched from; they win over allowed ones.",
  }),
  jwksCaFile: text({
    env: "JWKS_CA_FILE",
    default: undefined,
    sentence: "PEM file of roots that vouch for servers with keys of issuers, beside those of the system.",
  }),
  httpsProxy: proxy({
    env: "HTTPS_PROXY",
    default: undefined,
    sentence:
      "Forward proxy by which keys of issuers are fetched over TLS; it resolves their names, and decides where these may lead.",
  }),
  httpProxy: proxy({
    env: "HTTP_PROXY",
    default: undefined,
    sentence: "Forward proxy by which keys of issuers are fetched in plain text.",
  }),
  noProxy: list({
    env: "NO_PROXY",
    default: [],
    sentence:
      "Hosts, domains and ranges of addresses from which keys of issuers are fetched without a proxy, separated by commas; * for all.",
  }),
} as const;

type FetchSettings = SettingsOf<typeof issuerKeySettings>;

/** @throws Error when the file of roots cannot be read */
export function keyFetcher(settings: FetchSettings): IssuerKeysOptions["fetch"] {
  const { allowedJwksRanges, blockedJwksRanges, jwksCaFile } = settings;
  const rules = addressRules(allowedJwksRanges, blockedJwksRanges);
  const own = jwksCaFile === undefined ? [] : [readFileSync(jwksCaFile, "utf8")];
  const roots = [...getCACertificates("default"), ...getCACertificates("system"), ...own];
  const proxies = { https: settings.httpsProxy, http: settings.httpProxy, except: settings.noProxy };
  const fetchDocument = guardedFetch({ rules, roots, proxyOf: proxyOf(proxies) });
  return (source, timeoutMs, stop) => fetchKeys(source, fetchDocument, timeoutMs, stop);
}

function proxy(options: SettingOptions<string | undefined>): Setting<string | undefined> {
  return { ...text(options), bounds: "URL of HTTP or HTTPS, or host:port", parse: proxyUrl };
}

function ranges(options: SettingOptions<readonly string[]>): Setting<readonly string[]> {
  const { parse } = list(options);
  return {
    ...options,
    bounds: "ranges of addresses such as 10.0.0.0/8, separated by commas",
    parse: (value) => {
      const found = parse(value);
      const wrong = found.find((range) => parseRange(range) === undefined);
      if (wrong !== undefined) throw new Error(`${wrong} is no range of addresses such as 10.0.0.0/8`);
      return found;
    },
  };
}
