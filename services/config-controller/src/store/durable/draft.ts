/** The store as it would be: writes are collected and judged one after the other, and nothing is true before all of them are. */
import {
  type Config,
  type ConfigKey,
  configKeyText,
  created,
  type DeleteOptions,
  expectVersion,
  StoreError,
  updated,
  type WriteStamp,
  withStatus,
} from "@flotilla/model";
import type { ConfigTable } from "../config-table.ts";
import type { Edit } from "./transaction.ts";

export interface DraftOptions {
  readonly table: ConfigTable;
  readonly stamp: WriteStamp;
  readonly count: number;
  readonly maxObjects: number;
}

/** Methods throw StoreErrors, as those of ConfigStore do. */
export class Draft {
  readonly #options: DraftOptions;
  /** Undefined: deleted. */
  readonly #written = new Map<string, { readonly key: ConfigKey; readonly config: Config | undefined }>();
  #count: number;

  constructor(options: DraftOptions) {
    this.#options = options;
    this.#count = options.count;
  }

  get(key: ConfigKey): Config | undefined {
    const written = this.#written.get(configKeyText(key));
    return written === undefined ? this.#options.table.get(key) : written.config;
  }

  create(config: Config): Config {
    const { maxObjects, stamp } = this.#options;
    const made = created(config, this.get(config.key), stamp);
    if (this.#count >= maxObjects)
      throw new StoreError(
        "STORE_TOO_LARGE",
        config.key,
        `does not fit: ${stamp.source} holds ${maxObjects} objects at most`,
      );
    this.#count += 1;
    return this.#put(made);
  }

  update(config: Config): Config {
    return this.#put(updated(config, this.get(config.key), this.#options.stamp));
  }

  updateStatus(config: Config): Config {
    return this.#put(withStatus(config, this.get(config.key), this.#options.stamp));
  }

  delete(key: ConfigKey, { resourceVersion }: DeleteOptions = {}): Config {
    const gone = expectVersion(key, this.get(key), resourceVersion, this.#options.stamp.source);
    this.#written.set(configKeyText(key), { key, config: undefined });
    this.#count -= 1;
    return gone;
  }

  edit(): Edit {
    const { table } = this.#options;
    const written = [...this.#written.values()];
    return {
      puts: written.flatMap(({ key, config }) => (config === undefined || config === table.get(key) ? [] : [config])),
      deletes: written.flatMap(({ key, config }) => (config === undefined && table.has(key) ? [key] : [])),
    };
  }

  #put(config: Config): Config {
    this.#written.set(configKeyText(config.key), { key: config.key, config });
    return config;
  }
}
