/** Header manipulation of a route or a destination in Envoy's form. */
import { compareText } from "@flotilla/model";
import { create } from "@flotilla/proto";
import {
  type HeaderValueOption,
  HeaderValueOption_HeaderAppendAction,
  HeaderValueOptionSchema,
} from "@flotilla/proto/envoy/config/core/v3/base_pb";
import type { Headers, Headers_HeaderOperations } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";

export interface HeaderMutations {
  readonly requestHeadersToAdd: HeaderValueOption[];
  readonly requestHeadersToRemove: string[];
  readonly responseHeadersToAdd: HeaderValueOption[];
  readonly responseHeadersToRemove: string[];
}

/** Pseudo headers and the host cannot be manipulated as headers; the latter is rewritten (`authority`). */
export function headerMutations(headers: Headers | undefined): HeaderMutations {
  return {
    requestHeadersToAdd: added(headers?.request),
    requestHeadersToRemove: removed(headers?.request),
    responseHeadersToAdd: added(headers?.response),
    responseHeadersToRemove: removed(headers?.response),
  };
}

/** The host that a request header operation sets. */
export function authority(headers: Headers | undefined): string {
  const set = Object.entries(headers?.request?.set ?? {}).find(([name]) => isAuthority(name));
  return set?.[1] ?? "";
}

function added(operations: Headers_HeaderOperations | undefined): HeaderValueOption[] {
  const { OVERWRITE_IF_EXISTS_OR_ADD, APPEND_IF_EXISTS_OR_ADD } = HeaderValueOption_HeaderAppendAction;
  return [
    ...options(operations?.set ?? {}, OVERWRITE_IF_EXISTS_OR_ADD),
    ...options(operations?.add ?? {}, APPEND_IF_EXISTS_OR_ADD),
  ];
}

function options(
  headers: Readonly<Record<string, string>>,
  appendAction: HeaderValueOption_HeaderAppendAction,
): HeaderValueOption[] {
  return Object.entries(headers)
    .filter(([name]) => !isInternal(name))
    .sort(([a], [b]) => compareText(a, b))
    .map(([key, value]) => create(HeaderValueOptionSchema, { header: { key, value }, appendAction }));
}

function removed(operations: Headers_HeaderOperations | undefined): string[] {
  return (operations?.remove ?? []).filter((name) => !isInternal(name));
}

function isAuthority(name: string): boolean {
  return name.toLowerCase() === "host" || name.toLowerCase() === ":authority";
}

function isInternal(name: string): boolean {
  return name.startsWith(":") || isAuthority(name);
}
