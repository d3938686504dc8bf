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
export interface Delivery {
  readonly appliedAtMs: number;
  /** Oldest event by kind of change, milliseconds since the epoch. */
  readonly eventTimesMs: ReadonlyMap<string, number>;
  /** Types of streams that have not answered. */
  waiting: number;
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

  /** Runs `apply`; streams that it makes stale are waited for. */
  during<T>(eventTimesMs: ReadonlyMap<string, number>, apply: () => T): T {
    const delivery: Delivery = { appliedAtMs: this.#options.nowMs(), eventTimesMs, waiting: 0 };
    this.#current = delivery;
    try {
      return apply();
    } finally {
      this.#current = undefined;
      // Nobody needed it: there is nothing to be measured.
      if (delivery.waiting > 0 || this.#open.length > 0) this.#open.push(delivery);
    }
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

/** What one stream owes: nothing is kept for one that owes nothing. */
export class DeliveryTracker {
  readonly #options: TrackerOptions;
  #due: Map<string, readonly Delivery[]> | undefined;
  #underWay: Map<string, readonly Delivery[]> | undefined;
  #oldestMs: number | undefined;

  constructor(options: TrackerOptions) {
    this.#options = options;
  }

  /** The type became stale. */
  expect(typeUrl: string): void {
    const delivery = this.#options.current();
    if (delivery === undefined) return;
    delivery.waiting++;
    this.#due ??= new Map();
    this.#due.set(typeUrl, [...(this.#due.get(typeUrl) ?? []), delivery]);
    this.#oldestMs ??= delivery.appliedAtMs;
  }

  /** A message with the type's present state went out. */
  sent(typeUrl: string): void {
    const deliveries = this.#take(typeUrl, "sent");
    if (deliveries === undefined) return;
    this.#underWay ??= new Map();
    this.#underWay.set(typeUrl, [...(this.#underWay.get(typeUrl) ?? []), ...deliveries]);
  }

  /** Of what was due, that which is no longer and was not sent has changed nothing. */
  settled(isDue: (typeUrl: string) => boolean): void {
    for (const typeUrl of this.#due?.keys() ?? []) if (!isDue(typeUrl)) this.#settle(this.#take(typeUrl, "unchanged"));
  }

  /** The client accepted or refused the last message of the type. */
  answered(typeUrl: string): void {
    const deliveries = this.#underWay?.get(typeUrl);
    if (deliveries === undefined) return;
    this.#underWay?.delete(typeUrl);
    this.#settle(deliveries);
  }

  /** The client no longer wants the type, or is gone. */
  forget(typeUrl?: string): void {
    const isMeant = ([type]: readonly [string, unknown]) => typeUrl === undefined || type === typeUrl;
    const owed = [...(this.#due ?? []), ...(this.#underWay ?? [])].filter(isMeant);
    for (const [type] of owed) {
      this.#due?.delete(type);
      this.#underWay?.delete(type);
    }
    this.#options.answered(owed.flatMap(([, deliveries]) => deliveries));
    if (this.#isEmpty()) this.#oldestMs = undefined;
  }

  #take(typeUrl: string, outcome: "sent" | "unchanged"): readonly Delivery[] | undefined {
    const deliveries = this.#due?.get(typeUrl);
    if (deliveries === undefined) return undefined;
    this.#due?.delete(typeUrl);
    this.#options.metrics.lookedAt(outcome);
    return deliveries;
  }

  #settle(deliveries: readonly Delivery[] | undefined): void {
    if (deliveries === undefined) return;
    const { answered, metrics, nowMs } = this.#options;
    answered(deliveries);
    if (!this.#isEmpty() || this.#oldestMs === undefined) return;
    metrics.converged((nowMs() - this.#oldestMs) / 1000);
    this.#due = undefined;
    this.#underWay = undefined;
    this.#oldestMs = undefined;
  }

  #isEmpty(): boolean {
    return (this.#due?.size ?? 0) === 0 && (this.#underWay?.size ?? 0) === 0;
  }
}
