/**
 * One of several replicas publishes; the others hold the same state and publish nothing. A new publisher compares the stream's content with
 * its state, and publishes the differences; nothing disappears in between.
 */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { type Bus, Lease, type Publisher } from "@flotilla/bus";
import { aborted, type FailingWork, keepRunning, type Logger, orAborted } from "@flotilla/runtime";
import { Leadership } from "./leadership.ts";

/** The publisher that a controller hands its changes to. */
export type ChangePublisher = Pick<Publisher, "synchronize" | "publish" | "prune">;

/** The publisher and the replica that competes for it. */
export interface PublishingDutyOptions {
  readonly bus: Bus;
  readonly publisher: Publisher;
  /** Of the controller, equal for all its replicas. */
  readonly controller: string;
  /** The same after a restart, where the environment has a name. */
  readonly holder: string | undefined;
  readonly log: Logger;
  readonly failures?: FailingWork;
  /** After a crash others begin so much later; they ask for it six times in this, and who has it renews it each third. */
  readonly leaseMs?: number;
  /** Runs while we publish, after what differed is published. */
  readonly whilePublishing: (stop: AbortSignal) => Promise<void>;
}

type Snapshot = Parameters<ChangePublisher["synchronize"]>;

const usualLeaseMs = 6_000;

/** A publisher of which only one replica at a time publishes. */
export class PublishingDuty implements ChangePublisher {
  readonly #options: PublishingDutyOptions;
  /** All that is known now; undefined before everything was read. */
  #snapshot: (() => Snapshot) | undefined;
  readonly #isKnown = Promise.withResolvers<void>();
  readonly #isSettled = Promise.withResolvers<void>();
  /** While we publish; fires when somebody else may. */
  #term: { readonly lost: AbortController } | undefined;
  #lease: Lease | undefined;

  constructor(options: PublishingDutyOptions) {
    this.#options = options;
  }

  get isOurs(): boolean {
    return this.#term !== undefined;
  }

  /** Resolves when the state is published, or when another replica has the duty. */
  get settled(): Promise<void> {
    return this.#isSettled.promise;
  }

  /** `snapshot` gives all that is known whenever it is asked. */
  async noteSnapshot(snapshot: () => Snapshot): Promise<void> {
    const isFirst = this.#snapshot === undefined;
    this.#snapshot = snapshot;
    this.#isKnown.resolve();
    if (!isFirst && this.#term !== undefined) await this.synchronize(...snapshot());
  }

  /** Nothing is published, and `lastSequence` is 0, while another replica leads. */
  async synchronize(...snapshot: Snapshot): Promise<number> {
    return this.#mayPublish() ? this.#options.publisher.synchronize(...snapshot) : 0;
  }

  async publish(...changes: Parameters<ChangePublisher["publish"]>): Promise<number> {
    return this.#mayPublish() ? this.#options.publisher.publish(...changes) : 0;
  }

  /** Runs until `stop` fires, and lets the next one begin at once then. */
  async run(stop: AbortSignal): Promise<void> {
    const { controller, log, failures } = this.#options;
    await Promise.race([this.#isKnown.promise, aborted(stop)]);
    if (stop.aborted) return;
    const what = `publishing of ${controller}`;
    await keepRunning((until) => this.#contend(what, until), { what, log, failures, random: Math.random }, stop);
  }

  /** Asks for the lease and publishes while it is held, until `stop` fires. @throws BusError when the bucket cannot be opened */
  async #contend(duty: string, stop: AbortSignal): Promise<void> {
    const { bus, controller, holder = `${hostname()}/${randomUUID()}`, log, leaseMs = usualLeaseMs } = this.#options;
    const everyMs = leaseMs / 6;
    const values = await bus.keyValue(controller, { ttlMs: leaseMs });
    const nowMs = () => performance.now();
    const lease = new Lease({ values, key: "publishing", holder, ttlMs: leaseMs, nowMs, wallClockMs: Date.now });
    this.#lease = lease;
    const hold = async () => {
      await whenConnected(bus, stop);
      const isHeld = await lease.hold();
      if (!isHeld) this.#isSettled.resolve();
      return isHeld;
    };
    const asked = {
      hold,
      release: () => lease.release(),
      get isHeld() {
        return lease.isHeld;
      },
      get heldForMs() {
        return lease.heldForMs;
      },
    };
    const leadership = { lease: asked, duty, log, everyMs, awayMs: everyMs };
    await new Leadership(leadership).run((until) => this.#publishUntil(until), stop);
  }

  async #publishUntil(stop: AbortSignal): Promise<void> {
    const { publisher, log, whilePublishing } = this.#options;
    const snapshot = this.#snapshot;
    if (snapshot === undefined) return;
    const lost = new AbortController();
    const ended = AbortSignal.any([stop, lost.signal]);
    // Later changes queue behind the present state.
    const retired = publisher.retire().then(() => undefined);
    const published = publisher.synchronize(...snapshot());
    this.#term = { lost };
    try {
      await retired;
      log.info("initial sync published", { differences: await published });
      this.#isSettled.resolve();
      await whilePublishing(ended);
      if (lost.signal.aborted && !stop.aborted) throw new Error("the lease ran out before a change was published");
    } finally {
      this.#term = undefined;
    }
  }

  async prune(...isThere: Parameters<ChangePublisher["prune"]>): Promise<number> {
    return this.#mayPublish() ? this.#options.publisher.prune(...isThere) : 0;
  }

  /** A change that comes when the lease has run out is left to who publishes next, which may be us again. */
  #mayPublish(): boolean {
    if (this.#term === undefined) return false;
    if (this.#lease?.isHeld === true) return true;
    this.#term.lost.abort();
    return false;
  }
}

/** The lease that ran out while the servers were away is asked for as soon as they answer, not at the next renewal. */
async function whenConnected(bus: Bus, stop: AbortSignal): Promise<void> {
  if (bus.state.connected) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const end = bus.onState(({ connected }) => connected && resolve());
  try {
    await orAborted(promise, stop);
  } finally {
    end();
  }
}
