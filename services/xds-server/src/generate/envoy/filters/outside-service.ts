/** Services that a proxy itself calls: collectors of spans and logs, external authorization. */
import { ownValue } from "@flotilla/model";
import { create } from "@flotilla/proto";
import {
  type HeaderValueOption,
  HeaderValueOption_HeaderAppendAction,
  HeaderValueOptionSchema,
} from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { type HttpService, HttpServiceSchema } from "@flotilla/proto/envoy/config/core/v3/http_service_pb";
import type {
  MeshConfig_ExtensionProvider_HttpHeader as HttpHeader,
  MeshConfig_ExtensionProvider_HttpService as HttpSettings,
} from "@flotilla/proto/mesh/v1alpha1/config_pb";

export interface OutsideService {
  readonly hostname: string;
  readonly cluster: string;
}

/** Values that headers of providers name (`envName`), which stand in no MeshConfig. */
export type HeaderValues = Readonly<Record<string, string>>;

export function headerValue({ headerValue: { case: kind, value } }: HttpHeader, values: HeaderValues): string {
  if (kind === "value") return value;
  return kind === "envName" ? (ownValue(values, value) ?? "") : "";
}

export function headersToAdd(headers: readonly HttpHeader[], values: HeaderValues): HeaderValueOption[] {
  return headers.map((header) =>
    create(HeaderValueOptionSchema, {
      header: { key: header.name, value: headerValue(header, values) },
      appendAction: HeaderValueOption_HeaderAppendAction.OVERWRITE_IF_EXISTS_OR_ADD,
    }),
  );
}

/** `path` below the host, without empty and relative segments; a slash at its end stays. */
function joinedPath(hostname: string, path: string): string {
  const segments: string[] = [];
  for (const segment of path.split("/")) {
    if (segment === "..") segments.pop();
    else if (segment !== "" && segment !== ".") segments.push(segment.replace(/[?#\s]/g, encodeURIComponent));
  }
  return [hostname, ...segments, ...(path.endsWith("/") ? [""] : [])].join("/");
}

export function collectorHttpService(
  { path, timeout, headers }: HttpSettings,
  { hostname, cluster }: OutsideService,
  values: HeaderValues,
): HttpService {
  return create(HttpServiceSchema, {
    httpUri: {
      uri: joinedPath(hostname, path),
      httpUpstreamType: { case: "cluster", value: cluster },
      ...(timeout && { timeout }),
    },
    requestHeadersToAdd: headersToAdd(headers, values),
  });
}
