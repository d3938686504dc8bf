/** Every generator of the control plane, by the key under which it is looked up (registry.ts). */
import { typeUrl } from "@flotilla/proto";
import { sidecarClusters } from "./cds/sidecar-clusters.ts";
import { loadAssignments } from "./eds/load-assignment.ts";
import type { Generator } from "./generator.ts";
import { sidecarListeners } from "./lds/sidecar-listeners.ts";
import { mcpGenerators } from "./mcp/mcp-generators.ts";
import { nameTable } from "./nds/name-table.ts";
import { trustBundle } from "./pcds/trust-bundle.ts";
import { sidecarRoutes } from "./rds/route-configuration.ts";
import { sidecarSecrets } from "./sds/secret.ts";

export const generators: ReadonlyMap<string, Generator> = new Map([
  [`sidecar/${typeUrl.cluster}`, sidecarClusters],
  [typeUrl.endpoint, loadAssignments],
  [`sidecar/${typeUrl.listener}`, sidecarListeners],
  [`sidecar/${typeUrl.route}`, sidecarRoutes],
  [`sidecar/${typeUrl.secret}`, sidecarSecrets],
  [typeUrl.nameTable, nameTable],
  [typeUrl.proxyConfig, trustBundle],
  ...mcpGenerators,
]);
