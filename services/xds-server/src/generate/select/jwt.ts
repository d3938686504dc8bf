/** The filter that checks tokens, and where the proxy takes an issuer's public keys from: the rule itself, or the service of its URI. */
import { clusterName } from "@flotilla/model";
import type { HttpFilter } from "@flotilla/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb";
import type { JWTRule } from "@flotilla/proto/security/v1beta1/request_authentication_pb";
import { tokenRules } from "../../snapshot/scope/authn.ts";
import type { View } from "../../snapshot/view.ts";
import { jwtFilter, type KeySource } from "../envoy/filters/jwt-filter.ts";

/** None where no RequestAuthentication has a rule for the workload. */
export function jwtFilters(view: View): readonly HttpFilter[] {
  const rules = view.read(tokenRules).map((rule) => ({ rule, keys: keySource(view, rule) }));
  return rules.length === 0 ? [] : [jwtFilter(rules, view.proxy.type === "router")];
}

/**
 * istiod fetches keys by URI itself unless PILOT_JWT_ENABLE_REMOTE_JWKS says otherwise; here the proxy always fetches
 * them where it knows the service. `envoy` leaves unknown services to it, too.
 */
function keySource(view: View, { jwks, jwksUri, timeout }: JWTRule): KeySource {
  if (jwks !== "") return local(jwks);
  const uri = jwksUri === "" ? undefined : URL.parse(jwksUri);
  if (uri === null || uri === undefined) return local(noKeys);
  const isKnown = view.servicesByHost(uri.hostname).length > 0;
  const leavesIt = view.feature("remoteJwks") === "envoy";
  if (!isKnown && !leavesIt) return local(noKeys);
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

/** Keys that nothing was ever signed by: without any Envoy refuses the filter, with these it refuses the tokens. */
const modulus = [
  "0xObjM0UvS_oaazjpEYlAbwctEJ4L8pH3OuTb7qth7gUwqet-EzQB4dgFdvSdMgrLnSncQGRjpEYz3F3viIbH-3EN3TxSlPNviHxeOdyiBVfumN8dMxbLvVJ",
  "UpfNOnvmMxJcl-8NNjAwcOjk4otSALaYgYYyOPyvKtgVdrQr-FoubWX4yrjxW-MJ2-7OBeepUUNOsVwGV23YX03sVkkyvY3otRflkBcY3_HKpBxJl9wk2GyO",
  "ShN4_PNUF9-vwfnvOXMbCDX-w4PTef4geeb_GiT40YCKHTKMSPVanGRn5GExIWmki-mmqh94-mPTJyBR74ShspL3BxPZitDL574T1w",
].join("");
const noKeys = JSON.stringify({ keys: [{ kty: "RSA", e: "AQAB", n: modulus }] }, undefined, 2);
