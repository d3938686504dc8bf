/** Where the slot of each query and argument is found; a lookup makes no text of both. */
import type { Query, QueryArg } from "./query.ts";
import { Slot } from "./slot.ts";

export class SlotTable<Subject> {
  readonly #slots = new Map<Query<Subject, QueryArg, unknown>, Map<QueryArg, Slot<Subject>>>();

  /** The slot, made when there is none yet. */
  slotOf(query: Query<Subject, QueryArg, unknown>, arg: QueryArg): Slot<Subject> {
    let slots = this.#slots.get(query);
    if (slots === undefined) {
      slots = new Map();
      this.#slots.set(query, slots);
    }
    let slot = slots.get(arg);
    if (slot === undefined) {
      slot = new Slot();
      slots.set(arg, slot);
    }
    return slot;
  }

  drop(query: Query<Subject, QueryArg, unknown>, arg: QueryArg): void {
    const slots = this.#slots.get(query);
    slots?.delete(arg);
    if (slots?.size === 0) this.#slots.delete(query);
  }
}
