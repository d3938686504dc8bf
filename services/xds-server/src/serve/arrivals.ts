/**
 * Arrival of the last generations of the configuration at the proxies of this replica. Generations that were applied in one batch
 * share its messages; each has its own time, from its source's event on.
 */
import type { Cause, Change } from "@flotilla/model";
import type { Delivery } from "./deliveries.ts";

/** A generation's part of the batch that it was applied in. */
export interface Arrival {
  readonly generation: number;
  /** Generations that its messages carry, itself included. */
  readonly together: number;
  readonly messages: number;
  readonly bytes: number;
  readonly rejections: number;
  /** Types of proxies that have yet to answer. */
  readonly waiting: number;
  /** From the source's event to the last acknowledgement so far; absent while none came, and where the event's time is not known. */
  readonly lastAckMs?: number;
}

interface AppliedGroup {
  readonly changes: readonly Change[];
  readonly position: number;
  readonly cause: Pick<Cause, "eventTimeMs">;
}

interface Kept {
  readonly eventMs: number;
  readonly together: number;
  readonly delivery: Delivery;
}

/** As many as config-controller lists by far; a first state may have more. */
const maxGenerations = 1_000;

export class Arrivals {
  readonly #kept = new Map<number, Kept>();

  /** The groups were applied with the delivery. Those without configuration, as of endpoints, are no generations of it. */
  note(groups: readonly AppliedGroup[], delivery: Delivery): void {
    const own = groups.filter(({ changes }) => changes.some(({ type }) => type === "config"));
    for (const { position, cause } of own.slice(-maxGenerations)) {
      this.#kept.delete(position);
      this.#kept.set(position, { eventMs: cause.eventTimeMs, together: own.length, delivery });
    }
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= maxGenerations) return;
      this.#kept.delete(oldest);
    }
  }

  /** Undefined for one that came before this replica or longer ago than is kept. */
  of(generation: number): Arrival | undefined {
    const kept = this.#kept.get(generation);
    if (kept === undefined) return undefined;
    const { eventMs, together, delivery } = kept;
    const { messages, bytes, rejections, waiting, lastAckAtMs } = delivery;
    const hasTime = lastAckAtMs !== undefined && eventMs > 0;
    return {
      ...{ generation, together, messages, bytes, rejections, waiting },
      ...(hasTime && { lastAckMs: Math.max(0, lastAckAtMs - eventMs) }),
    };
  }
}
