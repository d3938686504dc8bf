/**
 * Indexes over configuration objects. An index is a function from an object to row keys; the world
 * keeps each row as one input of the graph, so a change costs the rows it touches, and whoever read
 * a row (an empty one too) learns of it.
 */
import type { KindReadBy } from "@flotilla/kinds";
import type { Config } from "@flotilla/model";

export interface RowIndex<Spec> {
  readonly name: string;
  readonly kind: KindReadBy<"xds-server">;
  /** The rows an object stands in. Must depend on the object alone. */
  readonly keysOf: (config: Config<Spec>) => readonly string[];
  /**
   * What a row holds instead of the object: the part of it that readers of the row depend on, as plain JSON. A change
   * of anything else does not touch the row.
   */
  readonly project?: (config: Config<Spec>) => Config;
}

/** Objects by their namespace. */
export function byNamespace<Spec>(kind: KindReadBy<"xds-server">): RowIndex<Spec> {
  return { name: `${kind}-by-namespace`, kind, keysOf: ({ key }) => [key.namespace] };
}
