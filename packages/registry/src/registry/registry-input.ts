/** What the registry is fed with. */
import { apiGroup, type ConfigChange, type ConfigKey, type KubeObject, ownValue } from "@flotilla/model";
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

/** Kinds of Kubernetes objects that services and endpoints are made from, by API group. */
export const registryKinds: Readonly<Record<string, string>> = {
  Service: "",
  Pod: "",
  Node: "",
  Namespace: "",
  EndpointSlice: "discovery.k8s.io",
  Endpoints: "",
  ServiceExport: multiClusterGroup,
};

/** Of other clusters: the own cluster's are configuration. */
export function isGatewayObject({ apiVersion, kind }: KubeObject): boolean {
  return kind === "Gateway" && apiGroup(apiVersion) === "gateway.networking.k8s.io";
}

/** Kinds of other groups may share a name: Knative has Services too. */
export function isRegistryObject({ apiVersion, kind }: KubeObject): boolean {
  return ownValue(registryKinds, kind) === apiGroup(apiVersion);
}
