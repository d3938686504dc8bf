/**
 * Several stores as one: of two with the same object the first in order wins, the one that is writable takes the writes. Objects of another
 * store cannot be overwritten: the rejection names both.
 */
import { type Config, type ConfigKey, type ConfigStore, configKeyText, configStore, StoreError } from "@flotilla/model";

/** @throws RangeError when more than one of the stores is writable */
export function layeredStore(name: string, stores: readonly ConfigStore[]): ConfigStore {
  const [writable, ...others] = stores.filter(({ isWritable }) => isWritable);
  if (others.length > 0) throw new RangeError(`${name} has more than one writable store`);
  const holderOf = async (key: ConfigKey): Promise<ConfigStore | undefined> => {
    for (const store of stores) if ((await store.get(key)) !== undefined) return store;
    return undefined;
  };
  /** The writable one, unless a store before it has the object. */
  const target = async (key: ConfigKey, forCreation: boolean): Promise<ConfigStore> => {
    if (writable === undefined) throw new StoreError("STORE_READ_ONLY", key, `all stores of ${name} are read only`);
    const holder = await holderOf(key);
    if (holder === undefined || holder === writable) return writable;
    const code = forCreation ? "STORE_ALREADY_EXISTS" : "STORE_READ_ONLY";
    throw new StoreError(code, key, `is in ${holder.name}, which wins over ${writable.name} and is read only`);
  };
  return configStore({
    name,
    isWritable: writable !== undefined,
    schemas: () => {
      const all = stores.flatMap((store) => store.schemas());
      return [...new Map(all.map((schema) => [schema.name, schema])).values()];
    },
    get: async (key) => (await holderOf(key))?.get(key),
    list: async (kind, namespace) => {
      const merged = new Map<string, Config>();
      for (const store of stores.filter(holdsKind(kind))) {
        for (const config of await store.list(kind, namespace)) {
          const text = configKeyText(config.key);
          if (!merged.has(text)) merged.set(text, config);
        }
      }
      return [...merged.values()];
    },
    create: async (config) => (await target(config.key, true)).create(config),
    update: async (config) => (await target(config.key, false)).update(config),
    updateStatus: async (config) => (await target(config.key, false)).updateStatus(config),
    delete: async (key, options) => (await target(key, false)).delete(key, options),
  });
}

function holdsKind(kind: string): (store: ConfigStore) => boolean {
  return (store) => store.schemas().some(({ name }) => name === kind);
}
