/** Matches of a rule's requests, in Istio's words. */
import { create, type MessageInitShape } from "@flotilla/proto";
import {
  type HTTPMatchRequest,
  HTTPMatchRequestSchema,
  type StringMatchSchema,
} from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import type { GrpcMatch, HttpMatch, ValueMatch } from "./route-spec.ts";

type Text = MessageInitShape<typeof StringMatchSchema>;

/** `port` 0 means any. */
export function httpMatch({ path, headers = [], queryParams = [], method }: HttpMatch, port: number): HTTPMatchRequest {
  return create(HTTPMatchRequestSchema, {
    port,
    uri: pathMatch(path),
    headers: byName(headers),
    queryParams: byName(queryParams),
    ...(method !== undefined && { method: exact(method) }),
  });
}

export function grpcMatch({ method, headers = [] }: GrpcMatch, port: number): HTTPMatchRequest {
  const uri = method && methodMatch(method);
  return create(HTTPMatchRequestSchema, { port, headers: byName(headers), ...(uri && { uri }) });
}

function pathMatch({ type = "PathPrefix", value = "/" }: NonNullable<HttpMatch["path"]> = {}): Text {
  if (type === "Exact") return exact(value);
  return type === "RegularExpression" ? regex(value) : prefix(value);
}

/** gRPC sends requests to `/service/method`. */
function methodMatch({
  type = "Exact",
  service = "",
  method = "",
}: NonNullable<GrpcMatch["method"]>): Text | undefined {
  if (service === "" && method === "") return undefined;
  if (type === "RegularExpression") return regex(`/${service || "[^/]+"}/${method || ".+"}`);
  if (service === "") return regex(`/[^/]+/${method}`);
  return method === "" ? prefix(`/${service}/`) : exact(`/${service}/${method}`);
}

function byName(matches: readonly ValueMatch[]): Record<string, Text> {
  return Object.fromEntries(
    matches.map(({ name, type, value = "" }) => [name, type === "RegularExpression" ? regex(value) : exact(value)]),
  );
}

function exact(value: string): Text {
  return { matchType: { case: "exact", value } };
}

function prefix(value: string): Text {
  return { matchType: { case: "prefix", value } };
}

function regex(value: string): Text {
  return { matchType: { case: "regex", value } };
}
