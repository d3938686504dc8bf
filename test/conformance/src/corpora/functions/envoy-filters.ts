/** Functions about patches of EnvoyFilters. */
import type { JsonObject, Proxy } from "@flotilla/model";
import { fromJson, type GenMessage, type JsonValue, type Message, toJson } from "@flotilla/proto";
import { ClusterSchema } from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import { TypedExtensionConfigSchema } from "@flotilla/proto/envoy/config/core/v3/extension_pb";
import { ListenerSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_pb";
import { RouteSchema, VirtualHostSchema } from "@flotilla/proto/envoy/config/route/v3/route_components_pb";
import { RouteConfigurationSchema } from "@flotilla/proto/envoy/config/route/v3/route_pb";
import {
  EnvoyFilter_ApplyTo as ApplyTo,
  type EnvoyFilter_PatchContext as Context,
  EnvoyFilterSchema,
  type EnvoyFilter_Patch_Operation as Operation,
} from "@flotilla/proto/networking/v1alpha3/envoy_filter_pb";
import {
  addedClusters,
  addedExtensionConfigs,
  addedListeners,
  clusterPatches,
  isInContext,
  matchesCluster,
  matchesHost,
  matchesRoutes,
  type Patch,
  ProxyPattern,
  patchCluster,
  patchListener,
  patchRouteConfiguration,
  readPatches,
  routeMatcher,
  routePatches,
} from "@flotilla/xds-server/functions";
import type { Counterparts } from "./counterpart.ts";

interface GoPatch {
  readonly Match?: JsonObject;
  readonly Operation?: Operation;
  readonly Value?: JsonObject;
}
interface GoFilter {
  readonly Patches: Readonly<Record<string, readonly GoPatch[]>>;
}
interface GoProxyMatch {
  readonly Match?: { readonly proxy?: { readonly proxyVersion?: string; readonly metadata?: Record<string, string> } };
}
type GoPortMap = Readonly<Record<string, readonly string[]>> | null;

/** Patches come sorted by what they apply to, with values as their objects have them. */
function patchesOf({ Patches }: GoFilter): readonly Patch[] {
  return Object.entries(Patches).flatMap(([name, all]) => {
    const applyTo = ApplyTo[name as keyof typeof ApplyTo];
    return all.map((one, index) => patchOf(one, applyTo, index));
  });
}

function patchOf(
  { Match = {}, Operation: operation = 1, Value }: GoPatch,
  applyTo = ApplyTo.CLUSTER,
  index = 0,
): Patch {
  const spec = fromJson(EnvoyFilterSchema, {
    configPatches: [{ applyTo: applyTo, match: Match, patch: { operation, ...(Value && { value: Value }) } }],
  } as unknown as JsonValue);
  const { patches, problems } = readPatches(`case/${index}`, spec, (text) => text);
  const [patch] = patches;
  if (patch === undefined) throw new Error(problems.map(({ reason }) => reason).join(", "));
  return patch;
}

const matching = (match: { readonly Match?: JsonObject }) => patchOf({ ...match, Operation: 3 });
const listOrNull = (list: readonly unknown[]) => (list.length === 0 ? null : list);
const ignore = () => undefined;
const jsonOf = <Of extends Message>(schema: GenMessage<Of>, message: unknown) => toJson(schema, message as never);
const read = <Of extends Message>(schema: GenMessage<Of>, json: unknown) => fromJson(schema, json as JsonValue);
const serverPorts = (ports: GoPortMap) =>
  new Map(Object.entries(ports ?? {}).map(([port, all]) => [Number(port), all.map(Number)] as const));

export const envoyFilterFunctions: Counterparts = {
  clusterMatch: (cluster: JsonObject, match: GoPatch, hosts: readonly string[]) => [
    matchesCluster(matching(match), { name: String(cluster["name"]), hosts }),
  ],
  ApplyClusterMerge: (context: Context, filter: GoFilter, json: JsonObject, hosts: readonly string[] | null) => {
    const cluster = read(ClusterSchema, json);
    const at = { name: cluster.name, context, hosts: hosts ?? [] };
    const patches = clusterPatches(patchesOf(filter), at);
    const patched = patchCluster(cluster, patches, ignore);
    return [patched === undefined ? null : jsonOf(ClusterSchema, patched)];
  },
  InsertedClusters: (context: Context, filter: GoFilter) => [
    listOrNull(addedClusters(patchesOf(filter), [context]).map(({ value }) => jsonOf(ClusterSchema, value))),
  ],
  InsertedExtensionConfigurations: (filter: GoFilter, names: readonly string[]) => {
    const added = addedExtensionConfigs(patchesOf(filter)).filter(({ value }) => names.includes(value?.name ?? ""));
    return [added.map(({ value }) => jsonOf(TypedExtensionConfigSchema, value))];
  },
  ApplyListenerPatches: (context: Context, filter: GoFilter, listeners: readonly JsonObject[], skipAdds: boolean) => {
    const patches = patchesOf(filter).filter((patch) => isInContext(patch, context));
    const patched = listeners.flatMap((json) => patchListener(read(ListenerSchema, json), patches, ignore) ?? []);
    const added = skipAdds ? [] : addedListeners(patches, [context]).flatMap(({ value }) => value ?? []);
    return [[...patched, ...added].map((one) => jsonOf(ListenerSchema, one))];
  },
  ApplyRouteConfigurationPatches: (context: Context, _proxy: unknown, filter: GoFilter, json: JsonObject) => {
    const routes = read(RouteConfigurationSchema, json);
    const at = { name: routes.name, context, serverPorts: serverPorts(null) };
    return [
      jsonOf(RouteConfigurationSchema, patchRouteConfiguration(routes, routePatches(patchesOf(filter), at), ignore)),
    ];
  },
  virtualHostMatch: (host: JsonObject, match: GoPatch) => [matchesHost(matching(match), read(VirtualHostSchema, host))],
  routeConfigurationMatch: (context: Context, routes: JsonObject, match: GoPatch, ports: GoPortMap) => [
    matchesRoutes(matching(match), { name: String(routes["name"]), context, serverPorts: serverPorts(ports) }),
  ],
  routeMatch: (route: JsonObject | null, match: GoPatch) => {
    if (route === null) return [false];
    return [routeMatcher(matching(match))?.(read(RouteSchema, route)) ?? true];
  },
  proxyMatch: (proxy: { readonly Metadata?: Readonly<Record<string, unknown>> }, { Match }: GoProxyMatch) => {
    const { proxyVersion = "", metadata = {} } = Match?.proxy ?? {};
    const { IstioVersion: version = "", Raw = {} } = (proxy.Metadata ?? {}) as { IstioVersion?: string; Raw?: object };
    const own = { metadata: { ...Raw, ISTIO_VERSION: version } } as unknown as Proxy;
    return [new ProxyPattern({ proxyVersion, metadata }).matches(own)];
  },
};
