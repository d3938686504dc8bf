/** Retries of requests: of HTTP routes and of the mesh's defaults. */
import type { Problem } from "../../problem.ts";
import { type Field, field, isSet, numberOf, refuseIf, textOf } from "./field.ts";
import { quoted } from "./names.ts";
import { durationProblems, nonNegativeProblems } from "./values.ts";

/** Causes that Envoy supports, of HTTP and of gRPC. */
const causes: ReadonlySet<string> = new Set([
  ...["5xx", "gateway-error", "reset", "reset-before-request", "connect-failure", "retriable-4xx", "refused-stream"],
  ...["retriable-status-codes", "retriable-headers", "envoy-ratelimited", "http3-post-connect-failure"],
  ...["cancelled", "deadline-exceeded", "internal", "resource-exhausted", "unavailable"],
]);

/** Registered status codes of HTTP. */
const statuses: ReadonlySet<number> = new Set([
  ...[100, 101, 102, 103, 200, 201, 202, 203, 204, 205, 206, 207, 208, 226, 300, 301, 302, 303, 304, 305, 307, 308],
  ...[400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410, 411, 412, 413, 414, 415, 416, 417, 418, 421, 422, 423],
  ...[424, 425, 426, 428, 429, 431, 451, 500, 501, 502, 503, 504, 505, 506, 507, 508, 510, 511],
]);

/** Nothing for an absent policy. */
export function retryProblems(retries: Field): readonly Problem[] {
  if (!isSet(retries)) return [];
  const attempts = field(retries, "attempts");
  const retryOn = field(retries, "retryOn");
  const given = ["perTryTimeout", "retryRemoteLocalities"].map((name) => field(retries, name)).filter(isSet);
  const unused = textOf(retryOn) === "" ? given : [...given, retryOn];
  const named = textOf(retryOn) === "" ? [] : textOf(retryOn).split(",");
  const unknown = named.find((cause) => !causes.has(cause) && !(/^\d{3}$/.test(cause) && statuses.has(Number(cause))));
  return [
    ...nonNegativeProblems(attempts),
    ...(numberOf(attempts) === 0 ? unused : []).flatMap((one) =>
      refuseIf(true, one, "must not be set where attempts is 0, which turns retries off"),
    ),
    ...durationProblems(field(retries, "perTryTimeout")),
    ...refuseIf(
      unknown !== undefined,
      retryOn,
      `${quoted(unknown ?? "")} is no retry condition of Envoy, such as 5xx or 503`,
    ),
    ...durationProblems(field(retries, "backoff")),
  ];
}
