/** Header modifiers of rules and of backends. Of several of one kind the last counts. */
import { create } from "@flotilla/proto";
import { type Headers, HeadersSchema } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import type { HeaderModifier, NamedValue, RouteFilter } from "./route-spec.ts";

export function headersOf(filters: readonly RouteFilter[]): Headers | undefined {
  const request = filters.findLast(({ type }) => type === "RequestHeaderModifier")?.requestHeaderModifier;
  const response = filters.findLast(({ type }) => type === "ResponseHeaderModifier")?.responseHeaderModifier;
  if (request === undefined && response === undefined) return undefined;
  return create(HeadersSchema, {
    ...(request && { request: operations(request) }),
    ...(response && { response: operations(response) }),
  });
}

function operations({ set = [], add = [], remove = [] }: HeaderModifier) {
  return { set: byName(set), add: byName(add), remove: [...remove] };
}

/** Names in lower case, as istiod has them; of equal names the first counts. */
function byName(values: readonly NamedValue[]): Record<string, string> {
  return Object.fromEntries(values.toReversed().map(({ name, value = "" }) => [name.toLowerCase(), value]));
}
