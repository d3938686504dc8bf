/** Every generator of the control plane, by the key under which it is looked up (registry.ts). */
import { typeUrl } from "@flotilla/proto";
import type { Generator } from "./encode/generator.ts";
import { extensionConfigs } from "./every-proxy/extension-configs.ts";
import { mcpGenerators } from "./every-proxy/mcp-generators.ts";
import { nameTable } from "./every-proxy/name-table.ts";
import { secrets } from "./every-proxy/secrets.ts";
import { trustBundle } from "./every-proxy/trust-bundle.ts";
import { grpcClusters } from "./grpc/clusters.ts";
import { grpcListeners } from "./grpc/listeners.ts";
import { grpcRoutes } from "./grpc/routes.ts";
import { routerClusters } from "./router/clusters.ts";
import { routerListeners } from "./router/listeners.ts";
import { routerRoutes } from "./router/routes.ts";
import { routerScopedRoutes } from "./router/scoped-routes.ts";
import { clusterTarget } from "./select/cluster-target.ts";
import { loadAssignmentsOf } from "./select/load-assignments.ts";
import { sidecarClusters } from "./sidecar/clusters.ts";
import { sidecarListeners } from "./sidecar/listeners.ts";
import { sidecarRoutes } from "./sidecar/routes.ts";
import { waypointClusters, waypointLoadAssignments } from "./waypoint/clusters.ts";
import { waypointListeners } from "./waypoint/listeners.ts";
import { addresses, workloads } from "./ztunnel/addresses.ts";
import { authorizations } from "./ztunnel/authorizations.ts";

export const generators: ReadonlyMap<string, Generator> = new Map([
  [`sidecar/${typeUrl.cluster}`, sidecarClusters],
  [`router/${typeUrl.cluster}`, routerClusters],
  [typeUrl.endpoint, loadAssignmentsOf("", clusterTarget)],
  [`sidecar/${typeUrl.listener}`, sidecarListeners],
  [`sidecar/${typeUrl.route}`, sidecarRoutes],
  [`router/${typeUrl.listener}`, routerListeners],
  [`router/${typeUrl.route}`, routerRoutes],
  [`router/${typeUrl.scopedRoute}`, routerScopedRoutes],
  [`waypoint/${typeUrl.cluster}`, waypointClusters],
  [`waypoint/${typeUrl.listener}`, waypointListeners],
  [`waypoint/${typeUrl.endpoint}`, waypointLoadAssignments],
  [`grpc/${typeUrl.listener}`, grpcListeners],
  [`grpc/${typeUrl.route}`, grpcRoutes],
  [`grpc/${typeUrl.cluster}`, grpcClusters],
  [typeUrl.secret, secrets],
  [typeUrl.extensionConfig, extensionConfigs],
  [typeUrl.nameTable, nameTable],
  [typeUrl.address, addresses],
  [typeUrl.workload, workloads],
  [typeUrl.authorization, authorizations],
  [typeUrl.proxyConfig, trustBundle],
  ...mcpGenerators,
]);
