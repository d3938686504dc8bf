/** Retries of a route: Istio's defaults, and the settings of a VirtualService or the mesh instead. */
import { create, pack } from "@flotilla/proto";
import {
  type RetryPolicy,
  RetryPolicy_RetryBackOffSchema,
  type RetryPolicy_RetryPriority,
  RetryPolicy_RetryPrioritySchema,
  RetryPolicySchema,
} from "@flotilla/proto/envoy/config/route/v3/route_components_pb";
import { PreviousHostsPredicateSchema } from "@flotilla/proto/envoy/extensions/retry/host/previous_hosts/v3/previous_hosts_pb";
import { PreviousPrioritiesConfigSchema } from "@flotilla/proto/envoy/extensions/retry/priority/previous_priorities/v3/previous_priorities_config_pb";
import type { HTTPRetry } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";

const defaultRetryOn = "connect-failure,refused-stream,unavailable,cancelled,retriable-status-codes";
const statusCodes = "retriable-status-codes";

/** Undefined: no retries. A VirtualService's own word on previous hosts counts more than the parameter. Source: scenario virtualservice/retries-timeout-fault. */
export function retryPolicy(retries: HTTPRetry | undefined, avoidPreviousHosts = true): RetryPolicy | undefined {
  if (retries === undefined) return basePolicy(2, avoidPreviousHosts);
  if (retries.attempts <= 0) return undefined;
  const policy = basePolicy(retries.attempts, retries.retryIgnorePreviousHosts ?? avoidPreviousHosts);
  if (retries.retryOn !== "") applyConditions(policy, retries.retryOn);
  const { perTryTimeout, backoff } = retries;
  if (perTryTimeout !== undefined) policy.perTryTimeout = perTryTimeout;
  if (backoff !== undefined) policy.retryBackOff = create(RetryPolicy_RetryBackOffSchema, { baseInterval: backoff });
  if (retries.retryRemoteLocalities === true) policy.retryPriority = otherPriorities();
  return policy;
}

/** Of an inbound route, which has one endpoint to try: other fields than these have no meaning there. */
export function inboundRetryPolicy(retries: HTTPRetry | undefined): RetryPolicy | undefined {
  const { attempts, retryOn, backoff } = retries ?? { attempts: 2, retryOn: "" };
  if (attempts <= 0) return undefined;
  const policy = create(RetryPolicySchema, { numRetries: attempts, retryOn: "reset-before-request" });
  if (retryOn !== "") applyConditions(policy, retryOn);
  if (backoff !== undefined) policy.retryBackOff = create(RetryPolicy_RetryBackOffSchema, { baseInterval: backoff });
  return policy;
}

function basePolicy(numRetries: number, avoidPreviousHosts: boolean): RetryPolicy {
  const predicate = {
    name: "envoy.retry_host_predicates.previous_hosts",
    configType: {
      case: "typedConfig",
      value: pack(PreviousHostsPredicateSchema, create(PreviousHostsPredicateSchema)),
    },
  } as const;
  return create(RetryPolicySchema, {
    numRetries,
    retryOn: defaultRetryOn,
    hostSelectionRetryMaxAttempts: 5n,
    retryHostPredicate: avoidPreviousHosts ? [predicate] : [],
  });
}

/** Conditions and status codes stand in one list; codes count only with the condition that turns them on. */
function applyConditions(policy: RetryPolicy, retryOn: string): void {
  const parts = retryOn.split(",").map((part) => part.trim());
  const codes = parts.map(Number).filter((code) => namedStatuses.has(code));
  const conditions = parts.filter((part) => part !== "" && !namedStatuses.has(Number(part)));
  const addsCodes = codes.length > 0 && !conditions.includes(statusCodes);
  policy.retryOn = conditions.join(",") + (addsCodes ? `,${statusCodes}` : "");
  policy.retriableStatusCodes = codes;
}

/** Numbers that HTTP has a name for; any other is passed on as a condition. */
const namedStatuses: ReadonlySet<number> = new Set([
  ...[100, 101, 102, 103],
  ...[200, 201, 202, 203, 204, 205, 206, 207, 208, 226],
  ...[300, 301, 302, 303, 304, 305, 307, 308],
  ...[
    400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410, 411, 412, 413, 414, 415, 416, 417, 418, 421, 422, 423, 424,
  ],
  ...[425, 426, 428, 429, 431, 451],
  ...[500, 501, 502, 503, 504, 505, 506, 507, 508, 510, 511],
]);

/** A retry leaves the priority, that is the locality, of the attempt before. */
function otherPriorities(): RetryPolicy_RetryPriority {
  const config = create(PreviousPrioritiesConfigSchema, { updateFrequency: 2 });
  return create(RetryPolicy_RetryPrioritySchema, {
    name: "envoy.retry_priorities.previous_priorities",
    configType: { case: "typedConfig", value: pack(PreviousPrioritiesConfigSchema, config) },
  });
}
