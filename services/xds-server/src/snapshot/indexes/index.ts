/** All row indexes of the world. A new one is defined beside its kind and added here. */
import type { RowIndex } from "../row-index.ts";

export const rowIndexes: readonly RowIndex<never>[] = [];
