/** The filter that checks tokens, and where the proxy takes an issuer's public keys from: the rule itself, the control plane, or the service of its URI. */
import { type IssuerKeysSpec, issuerKeysKey, issuerKeysSource } from "@flotilla/auth";
import { clusterName } from "@flotilla/model";
import type { HttpFilter } from "@flotilla/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb";
import type { JWTRule } from "@flotilla/proto/security/v1beta1/request_authentication_pb";
import { type TokenRule, tokenRules } from "../../snapshot/scope/authn.ts";
import type { PolicySubject } from "../../snapshot/scope/policy-targets.ts";
import type { View } from "../../snapshot/view.ts";
import { jwtFilter, type KeySource } from "../envoy/filters/jwt-filter.ts";
import { outsideService } from "./outside-service.ts";

/** None where no RequestAuthentication has a rule for the workload. */
export function jwtFilters(view: View, subject: PolicySubject): readonly HttpFilter[] {
  const rules = view.read(tokenRules, subject).map((one) => ({ rule: one.rule, keys: keySource(view, one) }));
  return rules.length === 0 ? [] : [jwtFilter(rules, view.proxy.type !== "sidecar")];
}

/**
 * The keys that the control plane fetched; where PILOT_JWT_ENABLE_REMOTE_JWKS is set for it, and where the control plane cannot reach a
 * service of the mesh, the proxy fetches them itself. Without any keys every token is refused.
 */
function keySource(view: View, { rule, object }: TokenRule): KeySource {
  if (rule.jwks !== "") return local(rule.jwks);
  const mode = view.feature("remoteJwks");
  const uri = rule.jwksUri === "" ? undefined : (URL.parse(rule.jwksUri) ?? undefined);
  const isOfMesh = uri !== undefined && outsideService(view, uri.hostname, Number(uri.port)) !== undefined;
  const isLeftToProxies = mode === "envoy" || (isOfMesh && (mode === "hybrid" || mode === "true"));
  if (uri !== undefined && isLeftToProxies) return remote(uri, rule);
  const source = issuerKeysSource(rule);
  const key = source === undefined ? undefined : issuerKeysKey(source);
  const found = key && view.config<IssuerKeysSpec>("IssuerKeys", key.namespace, key.name)?.spec;
  const { jwks, error, isUnreachable } = found ?? {};
  if (jwks === undefined && isUnreachable === true && isOfMesh) return remote(uri, rule);
  if (error !== undefined) {
    const state = jwks === undefined ? "tokens are refused" : "the last good ones stay in force";
    const message = `no keys of issuer ${rule.issuer}, ${state}: ${rule.jwksUri || rule.issuer} ${error}`;
    view.report({ metric: "flotilla_missing_issuer_keys", object, message });
  }
  return local(jwks ?? noKeys);
}

function remote(uri: URL, { jwksUri, timeout }: JWTRule): KeySource {
  const port = Number(uri.port) || (uri.protocol === "https:" ? 443 : 80);
  return {
    case: "remoteJwks",
    value: {
      httpUri: {
        uri: jwksUri,
        httpUpstreamType: { case: "cluster", value: clusterName("outbound", port, "", uri.hostname) },
        timeout: timeout ?? { seconds: 5n, nanos: 0 },
      },
      cacheDuration: { seconds: 300n, nanos: 0 },
    },
  };
}

function local(inlineString: string): KeySource {
  return {
    case: "localJwks",
    value: { specifier: { case: "inlineString", value: inlineString } },
  };
}

/**
 * Placeholder for keys that could not be fetched. Without keys Envoy rejects the filter; with this one it rejects the tokens. The modulus is made
 * of hashes of a text (its test derives it again), so no private key for it is known.
 */
const modulus = [
  "7fFOc6bGgCa5JU2hNpMB5QbZcdlYHJ6vFSHaBfUsgmTpWDTfV-4sZHQhpya0sVp5l1XVVv_4JY2OLP7cHXdK3CbKhnlTkxLL9e21DIF-Hjq-V1cWrWR5ZlRV",
  "7jFDBz2W6nZrPsneDCd1EM4TCHBa7py_zNEMlolMzMsWCgjwQWcix2PpllJ_fg8cUauMjh6OsnVCAhR0EydexVag2ua8liNjYaylFRmCXgsyP5evWlbKD38e",
  "yiE8ChIO8madf1OIeTvGSEr1QUK52kN7G1lqX2yE6wFoxvSnOtjd0iy58gu4ZCAD0GxUlL17A15z5psoCEN8ZrwDN3ABdES7iCfFEQ",
].join("");
const noKeys = JSON.stringify({ keys: [{ kty: "RSA", e: "AQAB", n: modulus }] }, undefined, 2);
