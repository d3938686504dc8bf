/**
 * What a group of changes does to the rows of indexes. Each row is written once when the group is through: a mesh that
 * is loaded costs its objects, and not its objects times the length of their rows.
 */
import type { InputKey } from "@flotilla/incremental";
import { type Config, compareByAge } from "@flotilla/model";

export type RowKey = InputKey<readonly Config[]>;

interface RowChange {
  readonly gone: Set<Config>;
  readonly fresh: Set<Config>;
}

export class RowChanges {
  readonly #rows = new Map<RowKey, RowChange>();

  /** `before` stands in the row or was put there by this group; undefined adds or removes. */
  replace(key: RowKey, before: Config | undefined, after: Config | undefined): void {
    if (before === after) return;
    let change = this.#rows.get(key);
    if (change === undefined) {
      change = { gone: new Set(), fresh: new Set() };
      this.#rows.set(key, change);
    }
    if (before !== undefined && !change.fresh.delete(before)) change.gone.add(before);
    if (after !== undefined && !change.gone.delete(after)) change.fresh.add(after);
  }

  /** The rows that differ now, oldest object first; undefined for those that are empty. `current` tells a row as it was. */
  *rows(
    current: (key: RowKey) => readonly Config[] | undefined,
  ): Iterable<readonly [key: RowKey, row: readonly Config[] | undefined]> {
    for (const [key, { gone, fresh }] of this.#rows) {
      if (gone.size + fresh.size === 0) continue;
      const row = [...(current(key) ?? []).filter((config) => !gone.has(config)), ...fresh].sort(compareByAge);
      yield [key, row.length === 0 ? undefined : row];
    }
  }
}
