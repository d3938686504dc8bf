/** A whole mesh in one process: objects and mesh documents in, the changes both controllers would publish out. */
import type { Change, ConfigChange, ConfigKey, JsonObject, KubeObject } from "@flotilla/model";
import { configKind, configOf, meshConfigOf, meshNetworksOf, withoutNullFields } from "./config.ts";
import { DiscoveryFilter } from "./discovery/discovery-filter.ts";
import { isRegistryObject } from "./registry/apply-object.ts";
import { ClusterRegistries } from "./registry/clusters.ts";
import type { RegistryInput } from "./registry/registry-input.ts";
import { parseRegistrySettings, type RegistrySettings } from "./settings.ts";

/** Changes of a mesh: objects that are put or deleted, and mesh documents. */
export interface MeshStep {
  readonly put?: readonly KubeObject[];
  readonly delete?: readonly Pick<KubeObject, "apiVersion" | "kind" | "metadata">[];
  /** Parsed documents; absent: as before. */
  readonly mesh?: JsonObject;
  readonly networks?: JsonObject;
  /** Objects of other clusters, by cluster. */
  readonly clusters?: Readonly<Record<string, readonly KubeObject[]>>;
}

/** A mesh in memory, for tests, conformance and `flotilla compare`. */
export interface Mesh {
  readonly registry: ClusterRegistries;
  /** Returns the changes of this step: configuration first, then services and endpoints. */
  apply(step: MeshStep): readonly Change[];
}

/** `env` holds the control plane's settings by Istio's names. */
export function createMesh(env: Readonly<Record<string, string | undefined>> = {}): Mesh {
  return meshOf(parseRegistrySettings(env));
}

/** Everything at once. */
export function loadMesh(
  objects: readonly KubeObject[],
  mesh: JsonObject = {},
  networks: JsonObject = {},
  env: Readonly<Record<string, string | undefined>> = {},
): readonly Change[] {
  return createMesh(env).apply({ put: objects, mesh, networks });
}

function meshOf(settings: RegistrySettings): Mesh {
  const registry = new ClusterRegistries(settings);
  const discovery = new DiscoveryFilter();
  return {
    registry,
    apply({ put = [], delete: gone = [], mesh, networks, clusters = {} }) {
      const config: ConfigChange[] = [];
      const objects: RegistryInput[] = [];
      const remote: RegistryInput[] = [];
      if (mesh !== undefined) config.push(putConfig(meshConfigOf(mesh)));
      if (networks !== undefined) config.push(putConfig(meshNetworksOf(networks)));
      for (const object of put) {
        const value = configOf(withoutNullFields(object.kind, object));
        if (value !== undefined) config.push(putConfig(value));
        if (isRegistryObject(object)) objects.push({ type: "object", op: "put", object });
      }
      for (const object of gone) {
        const { name, namespace = "" } = object.metadata;
        const kind = configKind(object.apiVersion, object.kind);
        if (kind !== undefined) config.push({ type: "config", op: "delete", key: { kind, namespace, name } });
        const key: ConfigKey = { kind: object.kind, namespace, name };
        if (isRegistryObject(object)) objects.push({ type: "object", op: "delete", key });
      }
      for (const [cluster, others] of Object.entries(clusters))
        for (const object of others) remote.push({ type: "object", op: "put", object, cluster });
      const inView = discovery.apply<ConfigChange | RegistryInput>([...config, ...objects]);
      return [...inView.filter(isConfig), ...registry.apply([...inView, ...remote]).changes];
    },
  };
}

function isConfig(change: RegistryInput): change is ConfigChange {
  return change.type === "config";
}

function putConfig(value: ReturnType<typeof meshConfigOf> | NonNullable<ReturnType<typeof configOf>>): ConfigChange {
  return { type: "config", op: "put", key: value.key, value };
}
