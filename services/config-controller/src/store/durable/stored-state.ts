/** The state as of a version of the store; independent of where it is stored. */
import { type Config, type ConfigKey, type ConfigKeyText, configKeyText, equalJson } from "@flotilla/model";
import { ConfigTable } from "../config-table.ts";
import type { Sealed, StoredObject, Transaction } from "./transaction.ts";

export class StoredState {
  /** Objects that are sealed with another key. */
  readonly #closed = new Map<ConfigKeyText, Sealed>();
  #table = new ConfigTable();
  #version = 0;

  get table(): ConfigTable {
    return this.#table;
  }

  get version(): number {
    return this.#version;
  }

  get closed(): ReadonlyMap<ConfigKeyText, Sealed> {
    return this.#closed;
  }

  /** Everything there is, as it would be written at once. */
  all(): Pick<Transaction, "puts" | "deletes" | "closed"> {
    return { puts: allOf(this.#table), deletes: [], closed: [...this.#closed.values()] };
  }

  /** The next one. */
  apply(transaction: Transaction): void {
    for (const config of transaction.puts) this.#closed.delete(configKeyText(config.key));
    for (const key of transaction.deletes) this.#closed.delete(configKeyText(key));
    this.#write(transaction);
    this.#version = transaction.version;
  }

  /**
   * Replaces the known objects by those that were read, and over them the last transaction, which may not be written to all of them yet.
   * Returns the differences as one transaction; undefined when there are none.
   */
  replace(objects: readonly StoredObject[], last: Transaction | undefined, version: number): Transaction | undefined {
    const before = this.#table;
    this.#table = new ConfigTable();
    this.#closed.clear();
    for (const { config, closed } of objects) {
      if (config !== undefined) this.#table.put(config);
      if (closed !== undefined) this.#closed.set(configKeyText(closed.key), closed);
    }
    if (last !== undefined) this.#write(last);
    this.#version = version;
    const puts = allOf(this.#table).filter((config) => !equalJson(config, before.get(config.key)));
    const deletes = allOf(before).flatMap(({ key }) => (this.#table.has(key) ? [] : [key]));
    if (puts.length + deletes.length === 0) return undefined;
    const { id = "", timeMs = 0 } = last ?? {};
    return { version, id, timeMs, puts, deletes, closed: [] };
  }

  /**
   * Compares the held objects with the stored ones: those missing, those stored in an older version only, and those stored although they
   * were deleted. `isForeign`: the last version was written by a replica that did not have ours.
   */
  lostIn(stored: readonly StoredObject[], isForeign: boolean): readonly StoredObject[] {
    const version = this.#version;
    const found = new Map(stored.map((object) => [configKeyText(object.key), object]));
    const isLost = (key: ConfigKey, heldVersion: number) => {
      const there = found.get(configKeyText(key));
      return there === undefined || there.version < heldVersion || (there.config ?? there.closed) === undefined;
    };
    const puts = allOf(this.#table).filter((config) => isLost(config.key, versionOf(config)));
    const closed = [...this.#closed.values()].filter(({ key }) => isLost(key, 0));
    const deletes = stored.filter(
      (object) =>
        (object.config ?? object.closed) !== undefined &&
        !this.#table.has(object.key) &&
        !this.#closed.has(configKeyText(object.key)) &&
        !(isForeign && object.version === version),
    );
    return [
      ...puts.map((config) => ({ version, key: config.key, config })),
      ...closed.map((one) => ({ version, key: one.key, closed: one })),
      ...deletes.map(({ key }) => ({ version, key })),
    ];
  }

  /**
   * Held objects that a newer history lacks: missing, stored in an older version only, or with other content at the same version.
   * Deleted objects are stored as deleted, so a missing one was lost.
   */
  lostTo(stored: readonly StoredObject[]): readonly Config[] {
    const found = new Map(stored.map((object) => [configKeyText(object.key), object]));
    return allOf(this.#table).filter((config) => {
      const there = found.get(configKeyText(config.key));
      const held = versionOf(config);
      return (
        there === undefined ||
        there.version < held ||
        (there.version === held && there.closed === undefined && !equalJson(there.config, config))
      );
    });
  }

  /** Objects that are absent or older here, as the next version would write them. */
  missing(configs: readonly Config[]): readonly Config[] {
    const resourceVersion = String(this.#version + 1);
    return configs.flatMap((config) => {
      const there = this.#table.get(config.key);
      return there === undefined || versionOf(there) < versionOf(config) ? [{ ...config, resourceVersion }] : [];
    });
  }

  #write({ puts, deletes, closed }: Transaction): void {
    for (const config of puts) this.#table.put(config);
    for (const key of deletes) this.#table.delete(key);
    for (const one of closed) this.#closed.set(configKeyText(one.key), one);
  }
}

/** The version that wrote it. */
function versionOf({ resourceVersion }: Config): number {
  return Number(resourceVersion ?? 0);
}

function allOf(table: ConfigTable): readonly Config[] {
  return table.kinds().flatMap((kind) => [...table.of(kind)]);
}
