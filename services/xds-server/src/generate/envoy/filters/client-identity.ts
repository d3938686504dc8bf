/**
 * Behind a waypoint the certificate of a connection is the ztunnel's or another proxy's: `x-forwarded-client-cert` names the caller as the
 * tunnel identified it, in place of what a caller claims. Source: Istio's annotation `ambient.istio.io/xfcc-include-client-identity`.
 */
import { create, pack } from "@flotilla/proto";
import { HeaderValueOption_HeaderAppendAction as AppendAction } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { HeaderMutationSchema } from "@flotilla/proto/envoy/extensions/filters/http/header_mutation/v3/header_mutation_pb";
import {
  type HttpFilter,
  HttpFilterSchema,
} from "@flotilla/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb";

const header = {
  key: "x-forwarded-client-cert",
  value: "By=%FILTER_STATE(io.istio.local_principal:PLAIN)%;URI=%FILTER_STATE(io.istio.peer_principal:PLAIN)%",
};

/** The first of the HTTP filters: policies see the caller by it. */
export const clientIdentity: HttpFilter = create(HttpFilterSchema, {
  name: "istio.waypoint.xfcc_client_identity",
  configType: {
    case: "typedConfig",
    value: pack(HeaderMutationSchema, {
      mutations: {
        requestMutations: [
          { action: { case: "append", value: { header, appendAction: AppendAction.OVERWRITE_IF_EXISTS_OR_ADD } } },
        ],
      },
    }),
  },
});
