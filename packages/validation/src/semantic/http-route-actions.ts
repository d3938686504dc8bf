/** Actions of HTTP routes besides forwarding: faults, rewrites, redirects and direct responses. */
import type { Problem } from "../problem.ts";
import { type Field, field, isSet, items, numberOf, refuseIf, textOf, warnIf } from "./shared/field.ts";
import { lineProblems } from "./shared/http-headers.ts";
import { quoted } from "./shared/names.ts";
import { expressionProblems } from "./shared/text-match.ts";
import { durationProblems, portProblems, shareProblems } from "./shared/values.ts";

const grpcStatuses: ReadonlySet<string> = new Set([
  ...["OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS"],
  ...["PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED"],
  ...["INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"],
]);

/** Injected delays and aborts. */
export function faultProblems(fault: Field): readonly Problem[] {
  if (!isSet(fault)) return [];
  const abort = field(fault, "abort");
  const delay = field(fault, "delay");
  return [
    ...refuseIf(!isSet(abort) && !isSet(delay), fault, "needs abort or delay"),
    ...(isSet(abort) ? abortProblems(abort) : []),
    ...shareProblems(field(delay, "percentage")),
    ...durationProblems(field(delay, "fixedDelay")),
    ...refuseIf(isSet(field(delay, "exponentialDelay")), field(delay, "exponentialDelay"), "is not supported"),
  ];
}

function abortProblems(abort: Field): readonly Problem[] {
  const [http, grpc, http2] = [field(abort, "httpStatus"), field(abort, "grpcStatus"), field(abort, "http2Error")];
  return [
    ...shareProblems(field(abort, "percentage")),
    ...(isSet(http) ? statusProblems(http) : []),
    ...refuseIf(
      isSet(grpc) && !grpcStatuses.has(textOf(grpc)),
      grpc,
      `${quoted(textOf(grpc))} is no status of gRPC such as NOT_FOUND`,
    ),
    ...refuseIf(isSet(http2), http2, "is not supported"),
    ...warnIf(![http, grpc, http2].some(isSet), abort, "has no effect without httpStatus or grpcStatus"),
  ];
}

/** Of the answer's statuses Envoy supports 200 to 599. */
function statusProblems(status: Field): readonly Problem[] {
  const number = numberOf(status);
  return refuseIf(number < 200 || number > 599, status, `HTTP status ${number} is not in range 200-599`);
}

/** New paths and authorities of requests. */
export function rewriteProblems(rewrite: Field): readonly Problem[] {
  if (!isSet(rewrite)) return [];
  const expression = field(rewrite, "uriRegexRewrite");
  const [uri, authority] = [field(rewrite, "uri"), field(rewrite, "authority")];
  const has = (text: Field) => textOf(text) !== "";
  return [
    ...refuseIf(has(uri) && isSet(expression), expression, "must not be set beside uri"),
    ...refuseIf(!has(uri) && !has(authority) && !isSet(expression), rewrite, "needs uri, uriRegexRewrite or authority"),
    ...[uri, authority].flatMap(lineProblems),
    ...(isSet(expression) ? regexRewriteProblems(expression) : []),
  ];
}

function regexRewriteProblems(expression: Field): readonly Problem[] {
  const match = field(expression, "match");
  const rewrite = field(expression, "rewrite");
  return [
    ...expressionProblems({ value: textOf(match), path: match.path }),
    ...refuseIf(textOf(rewrite) === "", rewrite, "must not be empty"),
    ...lineProblems(rewrite),
  ];
}

/** Redirects and direct responses. */
export function answerProblems(route: Field): readonly Problem[] {
  const response = field(route, "directResponse");
  const redirect = field(route, "redirect");
  return [
    ...(isSet(response)
      ? [...statusProblems(field(response, "status")), ...bodyProblems(field(response, "body"))]
      : []),
    ...(isSet(redirect) ? redirectProblems(redirect, items(route, "match")) : []),
  ];
}

const kb = 1024;

function bodyProblems(body: Field): readonly Problem[] {
  const text = field(body, "string");
  const base64 = textOf(field(body, "bytes"));
  const size = isSet(text) ? new TextEncoder().encode(textOf(text)).length : Math.floor((base64.length * 3) / 4);
  return [
    ...refuseIf(size > kb * kb, body, `has ${size} bytes, ${kb * kb} are allowed`),
    ...warnIf(size > 100 * kb && size <= kb * kb, body, `has ${size} bytes, which every proxy keeps in memory`),
  ];
}

const codes = [0, 301, 302, 303, 307, 308];
const targets = ["uri", "prefixRewrite", "authority", "scheme"];

function redirectProblems(redirect: Field, matches: readonly Field[]): readonly Problem[] {
  const [code, scheme, port] = [field(redirect, "redirectCode"), field(redirect, "scheme"), field(redirect, "port")];
  const prefix = field(redirect, "prefixRewrite");
  const hasText = (name: string) => textOf(field(redirect, name)) !== "";
  const hasPort = isSet(port) || isSet(field(redirect, "derivePort"));
  const otherMatch = matches
    .map((match) => field(match, "uri"))
    .find((uri) => isSet(uri) && !isSet(field(uri, "prefix")));
  return [
    ...refuseIf(hasText("uri") && hasText("prefixRewrite"), prefix, "must not be set beside uri"),
    ...refuseIf(hasText("prefixRewrite") && otherMatch !== undefined, prefix, "needs matches by prefix of all paths"),
    ...refuseIf(!targets.some(hasText) && !hasPort, redirect, "must specify URI, authority, scheme, or port"),
    ...refuseIf(!codes.includes(numberOf(code)), code, `${numberOf(code)} is none of 301, 302, 303, 307, 308`),
    ...refuseIf(!["", "http", "https"].includes(textOf(scheme)), scheme, "must be http or https"),
    ...(numberOf(port) > 0 ? portProblems(port) : []),
    ...["uri", "authority", "prefixRewrite"].flatMap((name) => lineProblems(field(redirect, name))),
  ];
}
