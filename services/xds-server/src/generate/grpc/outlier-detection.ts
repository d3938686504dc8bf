/**
 * Ejection of endpoints that fail, for gRPC. Its clients do not count errors in a row, as DestinationRules and Envoy do: they eject an
 * endpoint of whose calls within an interval too great a share failed. As many calls as a rule allows errors are enough to judge by.
 */
import { create } from "@flotilla/proto";
import {
  type OutlierDetection as EnvoyOutlierDetection,
  OutlierDetectionSchema,
} from "@flotilla/proto/envoy/config/cluster/v3/outlier_detection_pb";
import type { OutlierDetection } from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";

/** The default of a rule that gives no number of errors. */
const defaultErrors = 5;
/** The only endpoint is not ejected: none would be left to answer. */
const minimumHosts = 2;

/** Undefined where a rule turns ejection off. */
export function grpcOutlierDetection(rule: OutlierDetection): EnvoyOutlierDetection | undefined {
  const { consecutive5xxErrors, consecutiveGatewayErrors, interval, baseEjectionTime, maxEjectionPercent } = rule;
  const stated = [consecutive5xxErrors, consecutiveGatewayErrors].filter((count) => count !== undefined);
  const counts = (stated.length === 0 ? [defaultErrors] : stated).filter((count) => count > 0);
  if (counts.length === 0) return undefined;
  return create(OutlierDetectionSchema, {
    enforcingSuccessRate: 0,
    enforcingFailurePercentage: 100,
    failurePercentageMinimumHosts: minimumHosts,
    failurePercentageRequestVolume: Math.min(...counts),
    ...(interval && { interval }),
    ...(baseEjectionTime && { baseEjectionTime }),
    ...(maxEjectionPercent > 0 && { maxEjectionPercent }),
  });
}
