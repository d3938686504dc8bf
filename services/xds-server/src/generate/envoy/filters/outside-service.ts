/** Services that a proxy itself calls: collectors of spans and logs, external authorization. */
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

/** A header from the environment of the control plane stays empty: that environment is not the mesh's. */
export function headersToAdd(headers: readonly HttpHeader[]): HeaderValueOption[] {
  return headers.map(({ name, headerValue }) =>
    create(HeaderValueOptionSchema, {
      header: { key: name, value: headerValue.case === "value" ? headerValue.value : "" },
      appendAction: HeaderValueOption_HeaderAppendAction.OVERWRITE_IF_EXISTS_OR_ADD,
    }),
  );
}

export function collectorHttpService(
  { path, timeout, headers }: HttpSettings,
  { hostname, cluster }: OutsideService,
): HttpService {
  return create(HttpServiceSchema, {
    httpUri: {
      uri: hostname + path,
      httpUpstreamType: { case: "cluster", value: cluster },
      ...(timeout && { timeout }),
    },
    requestHeadersToAdd: headersToAdd(headers),
  });
}
