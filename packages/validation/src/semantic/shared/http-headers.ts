/** Names and values of headers that Envoy refuses, and with them the whole route configuration. */
import type { Problem } from "../../problem.ts";
import { entries, type Field, fieldAt, refuseIf, textOf, texts } from "./field.ts";
import { quoted } from "./names.ts";

/** Headers that a route sets, adds and removes, on the way to the service and back. */
export function headerProblems(headers: Field): readonly Problem[] {
  return ["request", "response"].flatMap((way) => {
    const operations = fieldAt(headers, way);
    return [
      ...["set", "add"].flatMap((name) =>
        entries(operations, name).flatMap(([key, value]) => [
          ...changedNameProblems(key, value, way === "request"),
          ...headerValueProblems(value),
        ]),
      ),
      ...texts(operations, "remove").flatMap((name) => changedNameProblems(name.value, name, false)),
    ];
  });
}

const isAuthority = (name: string) => [":authority", "host"].includes(name.toLowerCase());

/** Of headers that a request gets, the authority may be among them; of pseudo headers no other. */
function changedNameProblems(name: string, at: Field, allowsAuthority: boolean): readonly Problem[] {
  const isPseudo = name.startsWith(":") || name.toLowerCase() === "host";
  const isRefused = isPseudo && !(allowsAuthority && isAuthority(name));
  return [...headerNameProblems(name, at), ...refuseIf(isRefused, at, `${quoted(name)} cannot be changed by a route`)];
}

/** A request has one authority: a rewrite and headers cannot both set it, nor two spellings of the header. */
export function authorityProblems(route: Field): readonly Problem[] {
  const rewritten = textOf(fieldAt(route, "rewrite", "authority")) === "" ? 0 : 1;
  const changed = ["set", "add"].flatMap((name) => entries(fieldAt(route, "headers", "request"), name));
  return changed
    .filter(([name]) => isAuthority(name))
    .slice(1 - rewritten)
    .flatMap(([, at]) => refuseIf(true, at, "the authority is set already"));
}

export function headerNameProblems(name: string, at: Field): readonly Problem[] {
  if (name === "") return refuseIf(true, at, "a header has a name");
  return refuseIf(hasControl(name), at, "the name of a header has no control characters");
}

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** A name of a header as RFC 9110 has it. */
export function isHeaderName(name: string): boolean {
  return token.test(name);
}

const pseudoHeaders: readonly string[] = [":method", ":scheme", ":authority", ":path", ":status"];

/** Names of headers that are matched: claims of tokens count among them. */
export function matchedNameProblems(name: string, at: Field): readonly Problem[] {
  if (name === "") return headerNameProblems(name, at);
  const isKnown = pseudoHeaders.includes(name) || isClaimName(name) || isHeaderName(name);
  return refuseIf(!isKnown, at, `${quoted(name)} is no name of a header`);
}

/** `@request.auth.claims.group` or `@request.auth.claims[group]`. */
export function isClaimName(name: string): boolean {
  return /^@request\.auth\.claims(?:\..+|\[.+\])$/is.test(name);
}

/** `%%` is a percent sign, `%COMMAND(…)%` something that Envoy puts in. */
const escapesAndCommands = /%%|%([A-Z0-9_]+)(?:\((?:[^()]|\([^()]*\))*\))?(?::\d+)?%/g;

/** Commands of Envoy's format strings; families that grow with its versions are known by their beginning. */
const commandFamilies = ["DOWNSTREAM_", "UPSTREAM_", "TLS_", "REQUEST_", "RESPONSE_", "RESP", "GRPC_STATUS"];
const commands: ReadonlySet<string> = new Set([
  ...["REQ", "REQ_WITHOUT_QUERY", "TRAILER", "PATH", "QUERY_PARAM", "QUERY_PARAMS", "REQUESTED_SERVER_NAME"],
  ...["START_TIME", "START_TIME_LOCAL", "EMIT_TIME", "EMIT_TIME_LOCAL", "DURATION", "COMMON_DURATION"],
  ...["ROUNDTRIP_DURATION", "PROTOCOL", "HOSTNAME", "ENVIRONMENT", "CUSTOM_FLAGS", "LOCAL_REPLY_BODY"],
  ...["BYTES_RECEIVED", "BYTES_SENT", "BYTES_RETRANSMITTED", "PACKETS_RETRANSMITTED", "CONNECTION_ID"],
  ...["CONNECTION_TERMINATION_DETAILS", "ROUTE_NAME", "VIRTUAL_CLUSTER_NAME", "FILTER_CHAIN_NAME", "LISTENER_NAME"],
  ...["DYNAMIC_METADATA", "CLUSTER_METADATA", "METADATA", "FILTER_STATE", "PER_REQUEST_STATE", "CEL", "COALESCE"],
  ...["ACCESS_LOG_TYPE", "STREAM_ID", "UNIQUE_ID", "TRACE_ID", "SPAN_ID", "SECRET", "DYNAMIC_MODULE", "CLUSTER_NAME"],
]);

function isCommand(name: string): boolean {
  return commands.has(name) || commandFamilies.some((family) => name.startsWith(family));
}

export function headerValueProblems(value: Field): readonly Problem[] {
  const text = textOf(value);
  if (text.replace(escapesAndCommands, "").includes("%"))
    return refuseIf(true, value, "a percent sign that begins no command is written %%");
  const unknown = [...text.matchAll(escapesAndCommands)].find(([, name]) => name !== undefined && !isCommand(name));
  if (unknown !== undefined) return refuseIf(true, value, `Envoy supports no command %${unknown[1]}%`);
  return lineProblems(value);
}

/** For texts that become part of a request's or an answer's head. */
export function lineProblems(value: Field): readonly Problem[] {
  return refuseIf(hasControl(textOf(value)), value, "must not have control characters");
}

function hasControl(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 9 || (code > 9 && code < 32) || code === 127) return true;
  }
  return false;
}
