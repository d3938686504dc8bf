/** Cross-origin policy of a route. */
import { type Any, create, pack } from "@flotilla/proto";
import { CorsPolicySchema } from "@flotilla/proto/envoy/extensions/filters/http/cors/v3/cors_pb";
import { StringMatcherSchema } from "@flotilla/proto/envoy/type/matcher/v3/string_pb";
import {
  type CorsPolicy,
  CorsPolicy_UnmatchedPreflights,
} from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import { hundredths } from "./fraction.ts";
import { stringMatcher } from "./string-match.ts";

export const corsFilter = "envoy.filters.http.cors";

export function corsPolicy(policy: CorsPolicy): Any {
  const { allowOrigins, allowOrigin, maxAge, allowCredentials, unmatchedPreflights } = policy;
  const origins =
    allowOrigins.length > 0
      ? allowOrigins.flatMap((origin) => stringMatcher(origin) ?? [])
      : allowOrigin.map((value) => create(StringMatcherSchema, { matchPattern: { case: "exact", value } }));
  const cors = create(CorsPolicySchema, {
    filterEnabled: { defaultValue: hundredths(100) },
    allowOriginStringMatch: origins,
    allowMethods: policy.allowMethods.join(","),
    allowHeaders: policy.allowHeaders.join(","),
    exposeHeaders: policy.exposeHeaders.join(","),
    ...(maxAge && { maxAge: maxAge.seconds.toString() }),
    ...(allowCredentials !== undefined && { allowCredentials }),
    forwardNotMatchingPreflights: unmatchedPreflights !== CorsPolicy_UnmatchedPreflights.IGNORE,
  });
  return pack(CorsPolicySchema, cors);
}
