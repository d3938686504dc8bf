/** Makes a store of an implementation: the common parts of all stores. */
import { type Config, type ConfigKey, compareByAge, compareText } from "../config/config.ts";
import { type Labels, matchesLabels } from "../config/selector.ts";
import type { ConfigSchema, ConfigStore, StoreBackend } from "./config-store.ts";
import { StoreError } from "./store-error.ts";

/** How often a patch begins again because somebody else was faster. */
const maxAttempts = 10;

export function configStore(backend: StoreBackend): ConfigStore {
  const schemaOf = (kind: string, key?: ConfigKey): ConfigSchema => {
    const schema = backend.schemas().find(({ name }) => name === kind);
    if (schema === undefined) throw new StoreError("STORE_BAD_KEY", key, `${kind} is no kind of ${backend.name}`);
    return schema;
  };
  const checkWrite = (key: ConfigKey): void => {
    if (!backend.isWritable)
      throw new StoreError("STORE_READ_ONLY", key, `cannot be written: ${backend.name} is read only`);
    const { namespaced } = schemaOf(key.kind, key);
    if (key.name === "") throw new StoreError("STORE_BAD_KEY", key, "has no name");
    if (namespaced && key.namespace === "") throw new StoreError("STORE_BAD_KEY", key, "has no namespace");
    if (!namespaced && key.namespace !== "")
      throw new StoreError("STORE_BAD_KEY", key, "is of a kind without namespaces");
  };
  const list = async (kind: string, namespace: string): Promise<readonly Config[]> => {
    schemaOf(kind);
    return [...(await backend.list(kind, namespace))].sort(compareByPlace);
  };
  return {
    name: backend.name,
    isWritable: backend.isWritable,
    schemas: () => backend.schemas(),
    get: async (key) => {
      schemaOf(key.kind, key);
      return backend.get(key);
    },
    list,
    create: async (config) => {
      checkWrite(config.key);
      return backend.create(config);
    },
    update: async (config) => {
      checkWrite(config.key);
      return backend.update(config);
    },
    updateStatus: async (config) => {
      checkWrite(config.key);
      return backend.updateStatus(config);
    },
    patch: async (key, edit) => {
      checkWrite(key);
      return patch(backend, key, edit);
    },
    delete: async (key, options = {}) => {
      checkWrite(key);
      return backend.delete(key, options);
    },
    serviceEntries: async () => [...(await list("ServiceEntry", ""))].sort(compareByAge),
    gateways: async (workload) => (await list("Gateway", "")).filter(chooses(workload)).sort(compareByAge),
    authorizationPolicies: (namespace) => list("AuthorizationPolicy", namespace),
  };
}

async function patch(backend: StoreBackend, key: ConfigKey, edit: (current: Config) => Config): Promise<Config> {
  for (let attempt = 1; ; attempt++) {
    const current = await backend.get(key);
    if (current === undefined) throw new StoreError("STORE_NOT_FOUND", key, `is not in ${backend.name}`);
    const edited = edit(current);
    if (edited === current) return current;
    try {
      return await backend.update(edited);
    } catch (error) {
      // An edit that names a version of its own means that one, and no later one.
      const isOvertaken = edited.resourceVersion === current.resourceVersion;
      if (!(error instanceof StoreError && error.code === "STORE_CONFLICT" && isOvertaken && attempt < maxAttempts))
        throw error;
    }
  }
}

/** A Gateway without a selector is for every workload. */
function chooses(workload: Labels): (gateway: Config) => boolean {
  return ({ spec }) => matchesLabels((spec as { readonly selector?: Labels }).selector ?? {}, workload);
}

function compareByPlace(a: Config, b: Config): number {
  return compareText(a.key.namespace, b.key.namespace) || compareText(a.key.name, b.key.name);
}
