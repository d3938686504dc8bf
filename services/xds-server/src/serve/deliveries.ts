/**
 * From a source's event to the last client that took what follows from it. A batch of changes is delivered when
 * every stream that it made stale has answered the message that holds it, or has found that nothing changed for it.
 */

export interface DeliveryMetrics {
  /** From the source's event to the last answer, by kind of change. */
  delivered(kind: string, seconds: number): void;
  /** From the application of a change to the answer of one proxy that it concerned. */
  converged(seconds: number): void;
  /** A type of a stream was looked at because of a change: something was sent, or all was as before. */
  lookedAt(outcome: "sent" | "unchanged"): void;
}

/** A batch on its way. */
export class Delivery {
  readonly appliedAtMs: number;
  /** Oldest event by kind of change, milliseconds since the epoch. */
  readonly eventTimesMs: ReadonlyMap<string, number>;
  /** Just this one: what nearly every stream owes. */
  readonly alone: readonly Delivery[] = [this];
  /** Types of streams that have not answered. */
  waiting = 0;
  /** Messages that hold what follows from it. */
  messages = 0;
  bytes = 0;
  rejections = 0;
  /** When the last client so far took such a message, milliseconds since the epoch. */
  lastAckAtMs: number | undefined;
  /** Called with the time of the last answer. */
  readonly onDelivered: ((nowMs: number) => void) | undefined;

  constructor(appliedAtMs: number, eventTimesMs: ReadonlyMap<string, number>, onDelivered?: (nowMs: number) => void) {
    this.appliedAtMs = appliedAtMs;
    this.eventTimesMs = eventTimesMs;
    this.onDelivered = onDelivered;
  }
}

export interface DeliveriesOptions {
  readonly metrics: DeliveryMetrics;
  /** Milliseconds since the epoch, as the sources' event times. */
  readonly nowMs: () => number;
}

export class Deliveries {
  readonly #options: DeliveriesOptions;
  #current: Delivery | undefined;
  /** Oldest first: a stream that was stale already is counted with the batch that made it so. */
  #open: Delivery[] = [];

  constructor(options: DeliveriesOptions) {
    this.#options = options;
  }

  /** Batches that somebody has yet to answer. */
  get open(): number {
    return this.#open.length;
  }

  /** A batch is about to be applied: from now on streams that become stale owe it an answer, until `end`. */
  begin(eventTimesMs: ReadonlyMap<string, number>, onDelivered?: (nowMs: number) => void): Delivery {
    this.#current = new Delivery(this.#options.nowMs(), eventTimesMs, onDelivered);
    return this.#current;
  }

  /** The batch is applied, or could not be. */
  end(): void {
    const delivery = this.#current;
    this.#current = undefined;
    // A batch that made nothing stale is not measured.
    if (delivery !== undefined && (delivery.waiting > 0 || this.#open.length > 0)) this.#open.push(delivery);
  }

  /** For a new stream. */
  tracker(): DeliveryTracker {
    return new DeliveryTracker({
      current: () => this.#current,
      answered: (deliveries) => this.#answered(deliveries),
      metrics: this.#options.metrics,
      nowMs: this.#options.nowMs,
    });
  }

  #answered(deliveries: readonly Delivery[]): void {
    const { metrics, nowMs } = this.#options;
    for (const delivery of deliveries) delivery.waiting--;
    for (let first = this.#open[0]; first !== undefined && first.waiting === 0; first = this.#open[0]) {
      this.#open.shift();
      first.onDelivered?.(nowMs());
      for (const [kind, eventMs] of first.eventTimesMs) metrics.delivered(kind, Math.max(0, nowMs() - eventMs) / 1000);
    }
  }
}

interface TrackerOptions {
  readonly current: () => Delivery | undefined;
  readonly answered: (deliveries: readonly Delivery[]) => void;
  readonly metrics: DeliveryMetrics;
  readonly nowMs: () => number;
}

/** Changes owed to the client for one type. */
interface Owed {
  /** It is stale because of these. */
  due: readonly Delivery[] | undefined;
  /** Their effects are in messages that are not acknowledged. */
  underWay: readonly Delivery[] | undefined;
}

/** Tracks the changes that one stream owes its client. */
export class DeliveryTracker {
  readonly #options: TrackerOptions;
  /** Kept per type, since the same types become stale again. */
  readonly #owed = new Map<string, Owed>();
  #open = 0;
  #oldestMs = 0;

  constructor(options: TrackerOptions) {
    this.#options = options;
  }

  /** The type became stale. */
  expect(typeUrl: string): void {
    const delivery = this.#options.current();
    if (delivery === undefined) return;
    if (this.#open === 0) this.#oldestMs = delivery.appliedAtMs;
    delivery.waiting++;
    let owed = this.#owed.get(typeUrl);
    if (owed === undefined) {
      owed = { due: undefined, underWay: undefined };
      this.#owed.set(typeUrl, owed);
    }
    if (owed.due === undefined) this.#open++;
    owed.due = owed.due === undefined ? delivery.alone : [...owed.due, delivery];
  }

  /** A message with the type's present state went out; `again`: with a part of it, the rest has yet to come. */
  sent(typeUrl: string, bytes: number, again = false): void {
    const owed = this.#owed.get(typeUrl);
    if (owed?.due === undefined) return;
    for (const delivery of owed.due) {
      delivery.messages++;
      delivery.bytes += bytes;
    }
    if (again) return;
    this.#options.metrics.lookedAt("sent");
    if (owed.underWay !== undefined) this.#open--;
    owed.underWay = owed.underWay === undefined ? owed.due : [...owed.underWay, ...owed.due];
    owed.due = undefined;
  }

  /** Of what was due, that which is no longer and was not sent has changed nothing. */
  settled(isDue: (typeUrl: string) => boolean): void {
    if (this.#open === 0) return;
    for (const [typeUrl, owed] of this.#owed) {
      if (owed.due === undefined || isDue(typeUrl)) continue;
      this.#options.metrics.lookedAt("unchanged");
      const { due } = owed;
      owed.due = undefined;
      this.#settle(due);
    }
  }

  /** The client accepted or rejected the last message of the type. */
  answered(typeUrl: string, answer: "accepted" | "rejected"): void {
    const owed = this.#owed.get(typeUrl);
    if (owed?.underWay === undefined) return;
    const { underWay } = owed;
    const nowMs = answer === "accepted" ? this.#options.nowMs() : 0;
    for (const delivery of underWay) {
      if (answer === "accepted") delivery.lastAckAtMs = nowMs;
      else delivery.rejections++;
    }
    owed.underWay = undefined;
    this.#settle(underWay);
  }

  /** The client has unsubscribed from the type, or is gone. */
  forget(typeUrl?: string): void {
    for (const [type, { due, underWay }] of this.#owed) {
      if (typeUrl !== undefined && type !== typeUrl) continue;
      this.#owed.delete(type);
      for (const deliveries of [due, underWay]) {
        if (deliveries === undefined) continue;
        this.#open--;
        this.#options.answered(deliveries);
      }
    }
  }

  #settle(deliveries: readonly Delivery[]): void {
    const { answered, metrics, nowMs } = this.#options;
    this.#open--;
    answered(deliveries);
    if (this.#open === 0) metrics.converged((nowMs() - this.#oldestMs) / 1000);
  }
}
