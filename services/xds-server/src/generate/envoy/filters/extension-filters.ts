/** The filters of WasmPlugins and TrafficExtensions: a name whose configuration comes over ECDS, or Lua in place. */
import { create, pack } from "@flotilla/proto";
import {
  type ExtensionConfigSource,
  ExtensionConfigSourceSchema,
} from "@flotilla/proto/envoy/config/core/v3/config_source_pb";
import { type Filter, FilterSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_components_pb";
import { LuaSchema } from "@flotilla/proto/envoy/extensions/filters/http/lua/v3/lua_pb";
import {
  type HttpFilter,
  HttpFilterSchema,
} from "@flotilla/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb";
import { zeroDuration } from "../duration.ts";

export type ExtensionPhase = "authn" | "authz" | "stats" | "unspecified";

/** One extension of a proxy, and where it applies. */
export interface ExtensionFilter {
  readonly name: string;
  readonly phase: ExtensionPhase;
  readonly layer: "http" | "network";
  /** Source code that needs no discovery. */
  readonly lua?: string;
  /** Any of them; everywhere without one. */
  readonly match: readonly ExtensionMatch[];
}

interface ExtensionMatch {
  readonly side: "inbound" | "outbound" | "both";
  /** Empty: any. */
  readonly ports: readonly number[];
}

/** The filter chain that extensions are selected for; gateways are on the side of clients. */
export interface ChainPlace {
  readonly side: "inbound" | "outbound";
  /** 0 where no port is named. */
  readonly port: number;
}

/** Policies of the workload around which extensions are placed. */
export interface PolicyFilters<One> {
  /** Asks others for their decision. */
  readonly asked: readonly One[];
  /** Checks tokens. */
  readonly authentication: readonly One[];
  readonly decided: readonly One[];
}

const noPolicies = { asked: [], authentication: [], decided: [] };

/** HTTP filters of policies and extensions, in Istio's order. */
export function httpPolicyFilters(
  extensions: readonly ExtensionFilter[],
  place: ChainPlace,
  policies: PolicyFilters<HttpFilter> = noPolicies,
): readonly HttpFilter[] {
  return ordered(selected(extensions, place, "http"), policies, httpFilter);
}

/** The same for connections. */
export function networkPolicyFilters(
  extensions: readonly ExtensionFilter[],
  place: ChainPlace,
  policies: PolicyFilters<Filter> = noPolicies,
): readonly Filter[] {
  return ordered(selected(extensions, place, "network"), policies, networkFilter);
}

function ordered<One>(
  extensions: readonly ExtensionFilter[],
  { asked, authentication, decided }: PolicyFilters<One>,
  build: (extension: ExtensionFilter) => One,
): readonly One[] {
  const of = (wanted: ExtensionPhase) => extensions.filter(({ phase }) => phase === wanted).map(build);
  return [
    ...asked,
    ...of("authn"),
    ...authentication,
    ...of("authz"),
    ...decided,
    ...of("stats"),
    ...of("unspecified"),
  ];
}

function selected(
  extensions: readonly ExtensionFilter[],
  { side, port }: ChainPlace,
  layer: ExtensionFilter["layer"],
): readonly ExtensionFilter[] {
  return extensions.filter(
    (one) =>
      one.layer === layer &&
      (one.match.length === 0 ||
        one.match.some(
          (match) =>
            (match.side === "both" || match.side === side) && (match.ports.length === 0 || match.ports.includes(port)),
        )),
  );
}

function httpFilter({ name, lua }: ExtensionFilter): HttpFilter {
  if (lua === undefined)
    return create(HttpFilterSchema, { name, configType: { case: "configDiscovery", value: discovery("http") } });
  const value = pack(LuaSchema, {
    defaultSourceCode: { specifier: { case: "inlineString", value: lua } },
  });
  return create(HttpFilterSchema, { name, configType: { case: "typedConfig", value } });
}

function networkFilter({ name }: ExtensionFilter): Filter {
  return create(FilterSchema, { name, configType: { case: "configDiscovery", value: discovery("network") } });
}

/** An agent puts RBAC in place of a module that it cannot fetch. Listeners wait for the configuration without a limit. */
function discovery(layer: ExtensionFilter["layer"]): ExtensionConfigSource {
  return create(ExtensionConfigSourceSchema, {
    configSource: {
      configSourceSpecifier: { case: "ads", value: {} },
      initialFetchTimeout: zeroDuration,
      resourceApiVersion: 2,
    },
    typeUrls: [
      `type.googleapis.com/envoy.extensions.filters.${layer}.wasm.v3.Wasm`,
      `type.googleapis.com/envoy.extensions.filters.${layer}.rbac.v3.RBAC`,
    ],
  });
}
