/** The store of what is written over the API: it outlives the process, and several replicas of it agree. */
import { type Config, type ConfigStore, configStore, StoreError } from "@flotilla/model";
import { configSchemas } from "../config-schemas.ts";
import { CommitLog, type CommitLogOptions } from "./commit-log.ts";
import { Draft } from "./draft.ts";
import type { Transaction } from "./transaction.ts";

export interface DurableStoreOptions extends CommitLogOptions {
  readonly name: string;
  readonly maxObjects: number;
  /** Writes that may wait for their turn; more are refused. */
  readonly maxWaiting: number;
}

interface TransactOptions {
  readonly dryRun?: boolean;
  /** Account that asks for it, kept with the transaction. */
  readonly caller?: string | undefined;
}

export interface DurableStore {
  readonly store: ConfigStore;
  /** Of the last transaction: the resourceVersion of a list. */
  readonly version: number;
  all(): readonly Config[];
  /** Stored values that cannot be read here. */
  problems(): readonly { readonly object: string; readonly reason: string }[];
  /**
   * All that `write` does becomes true at once, or nothing of it; it must do nothing else, for it may be called again. A dry run
   * ends before that. @throws StoreError; whatever `write` throws
   */
  transact<T>(write: (draft: Draft) => T, options?: TransactOptions): Promise<T>;
  /** Called with each transaction after the store shows it. Returns a function that ends that. */
  onCommit(listener: (transaction: Transaction) => void): () => void;
  /** Writes again what the bus has lost. Resolves to its objects, as `Kind/namespace/name`. @throws StoreError STORE_AWAY */
  compare(): Promise<readonly string[]>;
  /** Writes everything as it is. @throws StoreError STORE_AWAY */
  writeAgain(): Promise<void>;
  /** Follows the writes of other replicas. Runs until `stop`. */
  follow(stop: AbortSignal): Promise<void>;
}

/** The same store, whose transactions are kept under the name of `caller`. */
export function onBehalfOf(store: DurableStore, caller: string): DurableStore {
  return {
    store: store.store,
    get version() {
      return store.version;
    },
    all: () => store.all(),
    problems: () => store.problems(),
    transact: (write, options) => store.transact(write, { ...options, caller }),
    onCommit: (listener) => store.onCommit(listener),
    compare: () => store.compare(),
    writeAgain: () => store.writeAgain(),
    follow: (stop) => store.follow(stop),
  };
}

/** @throws StoreError STORE_AWAY when what is stored cannot be read */
export async function openDurableStore(options: DurableStoreOptions): Promise<DurableStore> {
  const { name, nowMs, maxObjects, maxWaiting } = options;
  const log = new CommitLog(options);
  await log.load();
  let waiting = 0;
  const draft = (): Draft => {
    const stamp = { resourceVersion: String(log.version + 1), nowMs: nowMs(), source: name };
    return new Draft({ table: log.table, stamp, count: log.table.size, maxObjects });
  };
  const transact = async <T>(
    write: (draft: Draft) => T,
    { dryRun = false, caller }: TransactOptions = {},
  ): Promise<T> => {
    if (dryRun) return write(draft());
    if (waiting >= maxWaiting)
      throw new StoreError("STORE_BUSY", undefined, `${waiting} writes wait for their turn already, try again later`);
    waiting += 1;
    try {
      let result: { readonly value: T } | undefined;
      await log.commit(() => {
        const attempt = draft();
        result = { value: write(attempt) };
        return attempt.edit();
      }, caller);
      if (result === undefined) throw new StoreError("STORE_CONFLICT", undefined, "nothing was written");
      return result.value;
    } finally {
      waiting -= 1;
    }
  };
  return {
    store: configStore({
      name,
      isWritable: true,
      schemas: () => configSchemas,
      get: async (key) => log.table.get(key),
      list: async (kind, namespace) => log.table.listDated(kind, namespace),
      create: (config) => transact((one) => one.create(config)),
      update: (config) => transact((one) => one.update(config)),
      updateStatus: (config) => transact((one) => one.updateStatus(config)),
      delete: async (key, given) => void (await transact((one) => one.delete(key, given))),
    }),
    get version() {
      return log.version;
    },
    all: () => log.table.kinds().flatMap((kind) => [...log.table.of(kind)]),
    problems: () => log.problems(),
    transact,
    onCommit: (listener) => log.onCommit(listener),
    compare: () => log.compare(),
    writeAgain: () => log.writeAgain(),
    follow: (stop) => log.follow(stop),
  };
}
