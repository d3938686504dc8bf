/** A store within one process, for tests and for what need not outlive it. */
import { type ConfigStore, configStore, created, expectVersion, updated, withStatus } from "@flotilla/model";
import { configSchemas } from "./config-schemas.ts";
import { ConfigTable } from "./config-table.ts";

export interface MemoryStoreOptions {
  readonly name: string;
  readonly nowMs: () => number;
}

export function memoryStore({ name, nowMs }: MemoryStoreOptions): ConfigStore {
  const table = new ConfigTable();
  let version = 0;
  const stamp = () => ({ resourceVersion: String(version + 1), nowMs: nowMs(), source: name });
  const keep = <T extends Parameters<ConfigTable["put"]>[0]>(config: T): T => {
    if (table.get(config.key) === config) return config;
    version += 1;
    table.put(config);
    return config;
  };
  return configStore({
    name,
    isWritable: true,
    schemas: () => configSchemas,
    get: async (key) => table.get(key),
    list: async (kind, namespace) => table.listDated(kind, namespace),
    create: async (config) => keep(created(config, table.get(config.key), stamp())),
    update: async (config) => keep(updated(config, table.get(config.key), stamp())),
    updateStatus: async (config) => keep(withStatus(config, table.get(config.key), stamp())),
    delete: async (key, { resourceVersion }) => {
      expectVersion(key, table.get(key), resourceVersion, name);
      version += 1;
      table.delete(key);
    },
  });
}
