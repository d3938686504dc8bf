/** Inputs of the registry. */
import type { ConfigChange, ConfigKey, KubeObject } from "@flotilla/model";
import type { ConsulChange } from "../consul.ts";
import type { FileChange } from "../file/file-service.ts";
import type { RegisteredWorkloadChange } from "./registration-side.ts";

/** A Kubernetes object came, changed or went; of the settings' own cluster when no other is named. */
export type ObjectChange =
  | { readonly type: "object"; readonly op: "put"; readonly object: KubeObject; readonly cluster?: string }
  | { readonly type: "object"; readonly op: "delete"; readonly key: ConfigKey; readonly cluster?: string };

/** A cluster is no longer part of the mesh: all that came of it goes. */
export interface ClusterChange {
  readonly type: "cluster";
  readonly op: "delete";
  readonly cluster: string;
}

/** Of configuration, ServiceEntry, XBackend, WorkloadEntry, ServiceImport, MeshConfig and MeshNetworks are read; other kinds are passed over. */
export type RegistryInput =
  | ObjectChange
  | ClusterChange
  | ConfigChange
  | ConsulChange
  | FileChange
  | RegisteredWorkloadChange;

/** Of ServiceExports and ServiceImports, by the name they are known by here: API servers may have them under another. */
export const multiClusterGroup = "multicluster.x-k8s.io";
