/**
 * Scopes of routes (SRDS) are found by the text of the host as a request writes it, where a route configuration compares hosts without
 * regard to case. A request without a scope passes a filter of Lua that writes its host in lower case, upon which Envoy looks for the
 * scope once more. Requests that have their scope at once do not pass it: each scope switches it off.
 * Source: Envoy selects the scope anew whenever a filter has it choose the route again, shown in scoped-routes.integration.test.ts.
 */
import { type Any, create, pack } from "@flotilla/proto";
import { FilterConfigSchema } from "@flotilla/proto/envoy/config/route/v3/route_components_pb";
import { LuaSchema } from "@flotilla/proto/envoy/extensions/filters/http/lua/v3/lua_pb";
import {
  type HttpFilter,
  HttpFilterSchema,
} from "@flotilla/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb";

/** The extension that a proxy needs for it. */
export const luaExtension = "envoy.extensions.filters.http.lua.v3.Lua";

/** Apart from that of Lua filters in EnvoyFilters, which scopes must not switch off. */
const name = "flotilla.lower_case_host";

const inlineCode = `function envoy_on_request(handle)
  local headers = handle:headers()
  local host = headers:get(":authority")
  if host ~= nil and host ~= host:lower() then
    headers:replace(":authority", host:lower())
  end
end
`;

/** The first of the HTTP filters: those after it see the route that is found. */
export const lowerCaseHost: HttpFilter = create(HttpFilterSchema, {
  name,
  configType: {
    case: "typedConfig",
    value: pack(
      LuaSchema,
      create(LuaSchema, { defaultSourceCode: { specifier: { case: "inlineString", value: inlineCode } } }),
    ),
  },
});

/** `typed_per_filter_config` of a scope's route configuration. */
export const withoutLowerCaseHost: Readonly<Record<string, Any>> = {
  [name]: pack(FilterConfigSchema, create(FilterConfigSchema, { disabled: true })),
};
