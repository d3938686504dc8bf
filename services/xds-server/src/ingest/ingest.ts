/**
 * Brings the changes of the fleet into the core: first the shared snapshot, if there is one, then the
 * stream from the snapshot's position. Either one alone makes this replica ready.
 */
import { type Bus, filters, keyText, type Seal, type SetAside, type SubscriberItem, subscribe } from "@flotilla/bus";
import type { Cause, Change, ChangeGroup } from "@flotilla/model";
import { aborted, type Logger, Turns } from "@flotilla/runtime";
import { type SnapshotStore, StateError } from "@flotilla/state";
import { DigestCheck } from "./digest-check.ts";
import type { IngestMetrics } from "./ingest-metrics.ts";
import { Inputs, SnapshotWriter, snapshotChanges } from "./inputs.ts";

export interface ChangeSink {
  apply(changes: readonly Change[], position: number, cause: Cause): void;
}

export interface IngestOptions {
  /** Where changes go on; may apply them later, in order. */
  readonly source: ChangeSink;
  readonly store: SnapshotStore;
  readonly seal: Seal | undefined;
  readonly setAside: Pick<SetAside, "note" | "heal">;
  readonly log: Logger;
  readonly metrics: IngestMetrics;
  readonly nowMs: () => number;
  /** The publishers whose whole state makes a complete mesh. */
  readonly publishers: readonly string[];
  /** Called once, when the whole of the first complete mesh has gone on. */
  readonly onComplete: (from: "snapshot" | "stream", position: number) => void;
}

type Comparison = Pick<Synced, "publisher" | "position"> & { readonly differing: Promise<readonly string[]> };
type Mismatch = Pick<Synced, "publisher" | "position"> & { readonly topics: readonly string[] };
type Synced = Extract<SubscriberItem, { readonly kind: "synced" }>;

export class Ingest {
  readonly #options: IngestOptions;
  readonly #inputs = new Inputs();
  readonly #digestCheck: DigestCheck;
  readonly #writer: SnapshotWriter;
  readonly #completed = Promise.withResolvers<void>();
  #position = 0;
  /** The sequence that the position belongs to. */
  #epoch: string | undefined;
  /** Of the snapshot that was loaded. */
  #loadedMark: string | undefined;
  #bus: Pick<Bus, "mark"> | undefined;
  #isComplete = false;
  /** False while a stream that began anew is published again: old and new are mixed then. */
  #isWhole = false;
  /** Applied changes and a repair: one after the other. */
  readonly #turns = new Turns();
  #comparing: Promise<void> = Promise.resolve();
  /** Keys of entries of the snapshot that could not be read. */
  #missing: readonly string[] = [];

  constructor(options: IngestOptions) {
    this.#options = options;
    const { store, seal, log, nowMs } = options;
    this.#digestCheck = new DigestCheck({ inputs: this.#inputs, seal, log, nowMs });
    const isWhole = () => this.#isWhole;
    this.#writer = new SnapshotWriter({
      store,
      seal,
      log,
      inputs: this.#inputs,
      isWhole,
      mark: () => this.#bus?.mark ?? this.#loadedMark,
      gatherMs: 250,
      claimMs: 3_000,
    });
  }

  /** Position in the fleet's sequence up to which changes are applied. */
  get position(): number {
    return this.#position;
  }

  /** The sequence that the position belongs to; undefined before anything is known of it. */
  get epoch(): string | undefined {
    return this.#epoch;
  }

  /** The changes in force now, each key once. */
  *changes(): Iterable<Change> {
    for (const [, change] of this.#inputs.entries()) yield change;
  }

  /** A snapshot that cannot be read is refused by name and built anew from the stream. */
  async loadSnapshot(): Promise<void> {
    const { store, seal, setAside, log } = this.#options;
    try {
      const snapshot = await store.load();
      if (snapshot === undefined) return;
      const started = performance.now();
      const { changes, unreadable } = snapshotChanges(snapshot, seal);
      for (const [key, error] of unreadable) setAside.note(placeOf(key), error);
      this.#missing = [...snapshot.setAside, ...unreadable.keys()];
      const missing = this.#missing.length;
      this.#epoch = snapshot.epoch;
      this.#loadedMark = snapshot.mark;
      this.#apply(changes, snapshot.position, this.#ownCause("snapshot"));
      log.info("snapshot loaded", {
        entries: snapshot.entries.size,
        setAside: missing,
        position: snapshot.position,
        ms: Math.round(performance.now() - started),
      });
      this.#complete("snapshot");
      if (missing > 0) this.#beginAgain();
    } catch (error) {
      if (error instanceof StateError) log.error("snapshot rejected, it is rebuilt from the stream", { error });
      else log.warn("no snapshot can be loaded", { error });
    }
  }

  /** Follows the stream until `stop` fires. */
  async follow(bus: Bus, stop: AbortSignal): Promise<void> {
    const { seal, log, metrics, publishers } = this.#options;
    const from = { afterSequence: this.#position, epoch: this.#epoch, mark: this.#loadedMark };
    this.#bus = bus;
    try {
      for await (const item of subscribe({ bus, seal, filter: filters.everything, publishers, ...from }, stop))
        await this.#turns.take(async () => {
          if (item.kind === "group") this.#applyGroup(item.group);
          else if (item.kind === "caught-up") this.#caughtUp(item.position, item.epoch);
          else if (item.kind === "synced") this.#compare(bus, item);
          else if (item.kind === "reset") {
            log.warn("stream was recreated, everything is compared again", { reason: item.reason });
            metrics.resyncs.add(1);
            this.#beginAgain();
          }
        });
    } finally {
      await this.#comparing;
    }
  }

  /** Keeps the shared snapshot up to date until `stop` fires; part of a mesh is no snapshot. */
  async persist(stop: AbortSignal): Promise<void> {
    await Promise.race([this.#completed.promise, aborted(stop)]);
    await this.#writer.run(stop);
  }

  /** The whole stream is read; the state in force stays until then, and is no snapshot. */
  #beginAgain(): void {
    this.#inputs.beginAgain();
    this.#position = 0;
    this.#loadedMark = undefined;
    this.#isWhole = false;
  }

  #applyGroup({ changes, cause, position }: ChangeGroup): void {
    const { metrics, nowMs } = this.#options;
    this.#apply(changes, position, cause);
    if (cause.eventTimeMs > 0) metrics.lag.observe(Math.max(0, nowMs() - cause.eventTimeMs) / 1000);
  }

  #apply(changes: readonly Change[], position: number, cause: Cause): void {
    const { source, metrics } = this.#options;
    this.#inputs.record(changes);
    this.#position = Math.max(this.#position, position);
    source.apply(changes, position, cause);
    for (const change of changes) metrics.inbound.add(1, { type: change.type });
    this.#writer.note(
      changes.map((change) => [keyText(change), change.op === "put" ? change : undefined] as const),
      this.#position,
      this.#epoch,
    );
  }

  /** A publisher has sent its digests: the inputs held now are compared with them, while changes are still applied. */
  #compare(bus: Bus, { publisher, digests, position }: Synced): void {
    if (!this.#isWhole) return;
    // The mark has a place in the sequence: the served state is as of there. A group of another publisher may lie around it,
    // so a snapshot is not.
    this.#options.source.apply([], position, this.#ownCause(publisher));
    const differing = this.#digestCheck.differing(publisher, digests);
    this.#comparing = this.#repairAfter(this.#comparing, bus, { publisher, position, differing });
  }

  /** `before` never rejects. The two are awaited together, so that a comparison that fails early is not left without a handler. */
  async #repairAfter(before: Promise<void>, bus: Bus, { publisher, position, differing }: Comparison): Promise<void> {
    try {
      const [topics] = await Promise.all([differing, before]);
      if (topics.length > 0) await this.#turns.take(() => this.#repair(bus, { publisher, topics, position }));
    } catch (error) {
      this.#options.log.error("digests cannot be compared", { publisher, error });
    }
  }

  /** Nothing is applied meanwhile. Changes lost on their way after the last one that came lie before the mark's place. */
  async #repair(bus: Bus, { publisher, topics, position }: Mismatch): Promise<void> {
    if (!this.#isWhole) return;
    const upTo = Math.max(this.#position, position);
    const found = await this.#digestCheck.repairs(bus, publisher, topics, upTo);
    if (found.length === 0) return;
    this.#options.metrics.repaired.add(found.length);
    this.#apply(found, this.#position, { ...this.#ownCause(publisher), source: "a comparison of digests" });
  }

  /** All publishers have completed: inputs that were not published again are gone. */
  #caughtUp(position: number, epoch: string): void {
    this.#epoch = epoch;
    const vanished = this.#inputs.endAgain();
    const cause = { ...this.#ownCause("stream"), source: "not published again", urgent: vanished.length > 0 };
    // Also without changes: everything up to here has come.
    this.#apply(vanished, position, cause);
    this.#complete("stream");
    // The stream had them.
    for (const key of this.#missing) this.#options.setAside.heal(placeOf(key));
    this.#missing = [];
    this.#writer.note([], this.#position, epoch);
  }

  /** The cause of changes that no publisher's group names. */
  #ownCause(publisher: string): Cause {
    return { publisher, epoch: this.#epoch ?? "", revision: 0, eventTimeMs: 0 };
  }

  #complete(from: "snapshot" | "stream"): void {
    this.#isWhole = true;
    if (this.#isComplete) return;
    this.#isComplete = true;
    this.#completed.resolve();
    this.#options.onComplete(from, this.#position);
  }
}

/** As the store names them. */
function placeOf(key: string): string {
  return `snapshot ${key}`;
}
