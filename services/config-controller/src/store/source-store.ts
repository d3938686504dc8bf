/** The objects of one source as a store that is read only: a directory, another control plane, whatever gives groups of changes. */
import { type ConfigStore, configStore, StoreError } from "@flotilla/model";
import type { ConfigGroup, ConfigSource } from "../watch/config-source.ts";
import { configSchemas } from "./config-schemas.ts";
import type { ConfigTable } from "./config-table.ts";

/** `table` is what the source has in force; who follows the source keeps it. */
export function readOnlyStore(name: string, table: ConfigTable): ConfigStore {
  const refuse = (): never => {
    throw new StoreError("STORE_READ_ONLY", undefined, `${name} is read only`);
  };
  return configStore({
    name,
    isWritable: false,
    schemas: () => configSchemas,
    get: async (key) => table.getDated(key),
    list: async (kind, namespace) => table.listDated(kind, namespace),
    ...{ create: refuse, update: refuse, updateStatus: refuse, delete: refuse },
  });
}

function applyGroup(table: ConfigTable, { changes, eventTimeMs }: ConfigGroup): void {
  for (const change of changes) {
    if (change.op === "put") table.put(change.value, eventTimeMs);
    else table.delete(change.key);
  }
}

/** Follows a source until `stop`; `onGroup` is called after each group that the store shows. */
export async function followSource(
  source: ConfigSource,
  table: ConfigTable,
  onGroup: () => void,
  stop: AbortSignal,
): Promise<void> {
  for await (const group of source.groups(stop)) {
    applyGroup(table, group);
    onGroup();
  }
}
