/** Ejection of endpoints that fail. */
import { create } from "@flotilla/proto";
import {
  type OutlierDetection as EnvoyOutlierDetection,
  OutlierDetectionSchema,
} from "@flotilla/proto/envoy/config/cluster/v3/outlier_detection_pb";
import {
  type HttpProtocolOptions_OutlierDetection as HttpOutlierDetection,
  HttpProtocolOptions_OutlierDetectionSchema as HttpOutlierDetectionSchema,
} from "@flotilla/proto/envoy/extensions/upstreams/http/v3/http_protocol_options_pb";
import type { OutlierDetection } from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";

/** An error count of 0 turns its kind of ejection off; one that is not given keeps Envoy's default. */
export function outlierDetection(rule: OutlierDetection | undefined): { outlierDetection?: EnvoyOutlierDetection } {
  if (rule === undefined) return {};
  const enforcing = (count: number) => (count > 0 ? 100 : 0);
  const { consecutive5xxErrors: errors, consecutiveGatewayErrors: gatewayErrors } = rule;
  const { interval, baseEjectionTime, maxEjectionPercent, splitExternalLocalOriginErrors } = rule;
  const localFailures = rule.consecutiveLocalOriginFailures ?? 0;
  const found = create(OutlierDetectionSchema, {
    enforcingSuccessRate: 0,
    ...(errors !== undefined && { consecutive5xx: errors, enforcingConsecutive5xx: enforcing(errors) }),
    ...(gatewayErrors !== undefined && {
      consecutiveGatewayFailure: gatewayErrors,
      enforcingConsecutiveGatewayFailure: enforcing(gatewayErrors),
    }),
    ...(interval && { interval }),
    ...(baseEjectionTime && { baseEjectionTime }),
    ...(maxEjectionPercent > 0 && { maxEjectionPercent }),
    ...(splitExternalLocalOriginErrors && {
      splitExternalLocalOriginErrors,
      enforcingLocalOriginSuccessRate: 0,
      ...(localFailures > 0 && {
        consecutiveLocalOriginFailure: localFailures,
        enforcingConsecutiveLocalOriginFailure: 100,
      }),
    }),
  });
  return { outlierDetection: found };
}

/** Answers that count as errors of their endpoint, beside those that count anyway. */
export function outlierStatuses(rule: OutlierDetection | undefined): HttpOutlierDetection | undefined {
  const rules = (rule?.outlierDetectionHttpErrorCodes ?? []).map((code) => ({
    rule: { case: "httpResponseHeadersMatch" as const, value: { headers: [statusMatch(code)] } },
  }));
  if (rules.length === 0) return undefined;
  const [only, ...others] = rules;
  const errorMatcher = others.length === 0 ? only : { rule: { case: "orMatch" as const, value: { rules } } };
  return create(HttpOutlierDetectionSchema, { ...(errorMatcher && { errorMatcher }) });
}

function statusMatch(code: number) {
  return {
    name: ":status",
    headerMatchSpecifier: {
      case: "stringMatch" as const,
      value: { matchPattern: { case: "exact" as const, value: String(code) } },
    },
  };
}
