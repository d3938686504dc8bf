/** Operations on lists whose order counts: filters of every level, and routes. */
import { Operation } from "./patch.ts";

export interface ListChange<Item> {
  readonly operation: Operation;
  /** A fresh copy for each place it is put to. */
  readonly value: () => Item;
  /** Selects the items that are meant; undefined where the patch names none. */
  readonly isMeant: ((item: Item) => boolean) | undefined;
}

/** The list after one operation; the same list where it has no effect. */
export function changeList<Item>(
  items: readonly Item[],
  { operation, value, isMeant }: ListChange<Item>,
): readonly Item[] {
  const place = isMeant === undefined ? -1 : items.findIndex(isMeant);
  switch (operation) {
    case Operation.ADD:
      return [...items, value()];
    case Operation.INSERT_FIRST:
      return [value(), ...items];
    case Operation.INSERT_AFTER:
      if (isMeant === undefined) return [...items, value()];
      return place === -1 ? items : items.toSpliced(place + 1, 0, value());
    case Operation.INSERT_BEFORE:
      if (isMeant === undefined) return [value(), ...items];
      return place === -1 ? items : items.toSpliced(place, 0, value());
    case Operation.REPLACE:
      return place === -1 ? items : items.toSpliced(place, 1, value());
    case Operation.REMOVE:
      return place === -1 || isMeant === undefined ? items : items.filter((item) => !isMeant(item));
    default:
      return items;
  }
}
