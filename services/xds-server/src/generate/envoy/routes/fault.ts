/** Injected faults of a route. */
import { type Any, create, pack } from "@flotilla/proto";
import { FaultDelaySchema } from "@flotilla/proto/envoy/extensions/filters/common/fault/v3/fault_pb";
import {
  type FaultAbort,
  FaultAbortSchema,
  HTTPFaultSchema,
} from "@flotilla/proto/envoy/extensions/filters/http/fault/v3/fault_pb";
import type {
  HTTPFaultInjection,
  HTTPFaultInjection_Abort,
  HTTPFaultInjection_Delay,
} from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import { hundredths, millionths } from "./fraction.ts";

export const faultFilter = "envoy.filters.http.fault";

export function httpFault({ delay, abort }: HTTPFaultInjection): Any {
  const fault = create(HTTPFaultSchema, {
    ...(delay && { delay: faultDelay(delay) }),
    // One that does not say what to answer is none.
    ...(abort && abort.errorType.case !== undefined && { abort: faultAbort(abort) }),
  });
  return pack(HTTPFaultSchema, fault);
}

/** The field of whole percents is older than the exact one. */
function faultDelay({ httpDelayType, percentage, percent }: HTTPFaultInjection_Delay) {
  return create(FaultDelaySchema, {
    percentage: percentage === undefined ? hundredths(percent) : millionths(percentage),
    ...(httpDelayType.case === "fixedDelay" && { faultDelaySecifier: httpDelayType }),
  });
}

function faultAbort({ errorType, percentage }: HTTPFaultInjection_Abort) {
  return create(FaultAbortSchema, {
    ...(percentage && { percentage: millionths(percentage) }),
    errorType: abortedWith(errorType),
  });
}

function abortedWith(error: HTTPFaultInjection_Abort["errorType"]): FaultAbort["errorType"] {
  if (error.case === "httpStatus") return { case: "httpStatus", value: error.value };
  if (error.case !== "grpcStatus") return { case: undefined };
  return { case: "grpcStatus", value: Math.max(0, grpcCodes.indexOf(error.value)) };
}

const grpcCodes = [
  "OK",
  "CANCELLED",
  "UNKNOWN",
  "INVALID_ARGUMENT",
  "DEADLINE_EXCEEDED",
  "NOT_FOUND",
  "ALREADY_EXISTS",
  "PERMISSION_DENIED",
  "RESOURCE_EXHAUSTED",
  "FAILED_PRECONDITION",
  "ABORTED",
  "OUT_OF_RANGE",
  "UNIMPLEMENTED",
  "INTERNAL",
  "UNAVAILABLE",
  "DATA_LOSS",
  "UNAUTHENTICATED",
];
