/** Rows of objects: which ones a change touches is known at once, and each touched row is made anew once, however many of its objects change. */
import { type ConfigKeyText, compareText, configKeyText } from "@flotilla/model";
import type { Index } from "./analyzer.ts";
import type { MeshObject } from "./mesh-object.ts";

/** Objects by kind and, for those of namespaces, by kind and namespace: `Kind` and `Kind/namespace`. */
const kindIndex: Omit<Index, "kinds"> = {
  name: "kind",
  keysOf: ({ key: { kind, namespace } }) => (namespace === "" ? [kind, `${kind}/`] : [kind, `${kind}/${namespace}`]),
};

export class MeshIndex {
  readonly #objects = new Map<ConfigKeyText, MeshObject>();
  readonly #rows = new Map<string, Map<ConfigKeyText, MeshObject>>();
  readonly #touched = new Set<string>();
  readonly #byKind = new Map<string, Index[]>();

  constructor(indexes: Iterable<Index>) {
    for (const index of new Set(indexes))
      for (const kind of index.kinds) this.#byKind.set(kind, [...(this.#byKind.get(kind) ?? []), index]);
  }

  get(key: ConfigKeyText): MeshObject | undefined {
    return this.#objects.get(key);
  }

  get objects(): Iterable<readonly [ConfigKeyText, MeshObject]> {
    return this.#objects;
  }

  /** Adds or replaces an object; `undefined` removes it. */
  set(key: ConfigKeyText, object: MeshObject | undefined): void {
    const before = this.#objects.get(key);
    if (before !== undefined)
      for (const row of this.#rowsOf(before)) {
        this.#rows.get(row)?.delete(key);
        this.#touched.add(row);
      }
    if (object === undefined) this.#objects.delete(key);
    else {
      this.#objects.set(key, object);
      for (const row of this.#rowsOf(object)) {
        const members = this.#rows.get(row) ?? new Map<ConfigKeyText, MeshObject>();
        this.#rows.set(row, members.set(key, object));
        this.#touched.add(row);
      }
    }
  }

  /** The rows that changed since the last call, each with its members in the order of their keys; undefined for empty ones. */
  *takeTouched(): Iterable<readonly [row: string, members: readonly MeshObject[] | undefined]> {
    for (const row of this.#touched) {
      const members = this.members(row);
      if (members.length === 0) this.#rows.delete(row);
      yield [row, members.length === 0 ? undefined : members];
    }
    this.#touched.clear();
  }

  /** Rows that lost their last member are dropped, for users who look at members alone. */
  dropEmptyRows(): void {
    for (const row of this.#touched) if (this.#rows.get(row)?.size === 0) this.#rows.delete(row);
    this.#touched.clear();
  }

  /** In the order of their keys. */
  members(row: string): readonly MeshObject[] {
    return [...(this.#rows.get(row)?.values() ?? [])].sort(byKey);
  }

  #rowsOf(object: MeshObject): readonly string[] {
    const own = this.#byKind.get(object.key.kind) ?? [];
    return [kindIndex, ...own].flatMap((index) => index.keysOf(object).map((key) => rowName(index.name, key)));
  }
}

export function rowName(index: string, key: string): string {
  return `${index} ${key}`;
}

/** The row of all objects of a kind, or of those in a namespace. */
export function kindRow(kind: string, namespace?: string): string {
  return rowName(kindIndex.name, namespace === undefined ? kind : `${kind}/${namespace}`);
}

function byKey(a: MeshObject, b: MeshObject): number {
  return (
    compareText(a.key.namespace, b.key.namespace) ||
    compareText(a.key.name, b.key.name) ||
    compareText(configKeyText(a.key), configKeyText(b.key))
  );
}
