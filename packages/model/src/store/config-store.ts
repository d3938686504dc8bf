/**
 * Configuration as a store: read by key and kind, written with optimistic concurrency. In memory, over a directory, a Kubernetes API,
 * another control plane or the bus, and over several of these; all behave as the conformance suite of config-controller requires.
 */
import type { Config, ConfigKey } from "../config/config.ts";
import type { Labels } from "../config/selector.ts";

/** A kind that a store can hold. */
export interface ConfigSchema {
  /** The mesh's unambiguous name, as `ConfigKey.kind` has it. */
  readonly name: string;
  readonly kind: string;
  readonly plural: string;
  /** "" for the core group. */
  readonly group: string;
  /** Served versions, preferred one first. */
  readonly versions: readonly string[];
  readonly namespaced: boolean;
}

export interface DeleteOptions {
  /** Deletes this version only. */
  readonly resourceVersion?: string;
}

/** Parts that an implementation provides; `configStore` makes a ConfigStore of it. */
export interface StoreBackend {
  /** Whom problems and provenance name. */
  readonly name: string;
  readonly isWritable: boolean;
  schemas(): readonly ConfigSchema[];
  get(key: ConfigKey): Promise<Config | undefined>;
  /** `namespace` "": of all namespaces. In no particular order. */
  list(kind: string, namespace: string): Promise<readonly Config[]>;
  /** Gives the object as stored: with its resourceVersion, generation 1 and time of creation. The given resourceVersion does not count. */
  create(config: Config): Promise<Config>;
  /** Replaces all but the status. With a resourceVersion only if that is the last one. */
  update(config: Config): Promise<Config>;
  /** Replaces nothing but the status; the generation stays. */
  updateStatus(config: Config): Promise<Config>;
  delete(key: ConfigKey, options: DeleteOptions): Promise<void>;
}

/** Failures of all methods are StoreErrors, and leave the store as it was. */
export interface ConfigStore {
  readonly name: string;
  readonly isWritable: boolean;
  schemas(): readonly ConfigSchema[];
  /** Undefined when there is none. */
  get(key: ConfigKey): Promise<Config | undefined>;
  /** `namespace` "": of all namespaces. By namespace and name. */
  list(kind: string, namespace: string): Promise<readonly Config[]>;
  /** @throws StoreError STORE_ALREADY_EXISTS */
  create(config: Config): Promise<Config>;
  /** @throws StoreError STORE_NOT_FOUND, STORE_CONFLICT */
  update(config: Config): Promise<Config>;
  /** @throws StoreError STORE_NOT_FOUND, STORE_CONFLICT */
  updateStatus(config: Config): Promise<Config>;
  /**
   * Stores what `edit` makes of the last version; when somebody else was faster, of theirs. An edit that gives its argument back
   * writes nothing. @throws StoreError STORE_NOT_FOUND; STORE_CONFLICT when others were faster too often, or the edit names an old version
   */
  patch(key: ConfigKey, edit: (current: Config) => Config): Promise<Config>;
  /** @throws StoreError STORE_NOT_FOUND, STORE_CONFLICT */
  delete(key: ConfigKey, options?: DeleteOptions): Promise<void>;
  /** Older first. */
  serviceEntries(): Promise<readonly Config[]>;
  /** Gateways that choose a workload with these labels, older first. */
  gateways(workload: Labels): Promise<readonly Config[]>;
  /** Of one namespace. */
  authorizationPolicies(namespace: string): Promise<readonly Config[]>;
}
