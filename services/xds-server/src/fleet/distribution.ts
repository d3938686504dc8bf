/** Reports to config-controller, in a shared bucket, how far the configuration has come on the proxies that are connected here. */
import { randomUUID } from "node:crypto";
import type { Bus } from "@flotilla/bus";
import {
  type DistributionReport,
  distributionBucket,
  distributionTtlMs,
  encodeDistribution,
  type ObjectFinding,
} from "@flotilla/model";
import { delay, Wakeup } from "@flotilla/runtime";
import type { Core } from "../app/core.ts";
import type { ChangeListener } from "../app/core-source.ts";
import type { StreamObserver, StreamRecord } from "../serve/stream-record.ts";
import { type Standing, standingsOf } from "./balance.ts";
import { ObjectReaches, type Remaining } from "./object-reach.ts";
import { Refusals } from "./refusals.ts";

export interface DistributionOptions {
  /** Our pod or host name. */
  readonly replica: string;
  readonly core: Core;
  readonly streams: () => readonly StreamRecord[];
  /** Everything up to it is applied. */
  readonly position: () => number;
  readonly epoch: () => string | undefined;
  /** Answers are coming in: a report now would be outdated at once. */
  readonly isSettling: () => boolean;
  readonly lastChange: (input: string) => number | undefined;
  readonly nowMs: () => number;
}

/** The content of the report, kept as it happens. */
export class Distribution {
  readonly #options: DistributionOptions;
  readonly #reaches: ObjectReaches;
  readonly #refusals: Refusals;
  readonly observer: StreamObserver;
  /** Records which objects the changes are about. */
  readonly changes: ChangeListener;
  /** Woken when the next report may differ. */
  readonly changed = new Wakeup();
  #streamsVersion = 0;
  #isDirty = true;
  #remaining: Remaining = "nothing";
  #lookedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: DistributionOptions) {
    this.#options = options;
    this.#reaches = new ObjectReaches(options.core);
    this.#refusals = new Refusals(options);
    this.changes = {
      afterApply: (_changes, { groups }) => {
        for (const group of groups) this.#reaches.note(group.changes, group.position);
        this.#noteChange();
      },
    };
    const refusals = this.#refusals.observer;
    this.observer = {
      opened: () => this.#noteStreams(),
      sent: () => this.#noteChange(),
      acknowledged: (stream, typeUrl, receipt) => {
        refusals.acknowledged?.(stream, typeUrl, receipt);
        this.#noteChange();
      },
      rejected: (stream, typeUrl, rejection, names) => {
        refusals.rejected?.(stream, typeUrl, rejection, names);
        this.#noteChange();
      },
      closed: (stream, reason) => {
        refusals.closed?.(stream, reason);
        this.#noteStreams();
      },
    };
  }

  /** Nothing is left to report until `changed` is woken. */
  get isComplete(): boolean {
    return !this.#isDirty && this.#remaining === "nothing";
  }

  /** Undefined while nothing is different from the last one. Takes some milliseconds at most: the rest comes with the next. */
  next(): DistributionReport | undefined {
    const since = performance.now();
    if (!this.#isDirty && this.#remaining === "nothing") return undefined;
    const hasTime = !this.#isDirty || this.#options.isSettling();
    if (hasTime && since - this.#lookedAtMs < patienceMs) return undefined;
    this.#lookedAtMs = since;
    const { replica, core, epoch } = this.#options;
    const position = this.#options.position();
    const streams = this.#options.streams().filter((stream) => !stream.isIdle());
    const standings = standingsOf(streams);
    const elapsedMs = () => performance.now() - since;
    this.#remaining = this.#reaches.refresh(standings, this.#streamsVersion, elapsedMs);
    const answered = countByPosition(standings);
    // Streams settle without an event when a change does not concern them: as long as one lags, it is checked again.
    const isBehind = (answered[0]?.[0] ?? position) < position;
    this.#isDirty = isBehind || this.#remaining === "looks";
    return {
      ...{
        replica,
        epoch: epoch() ?? "",
        position,
        answered,
        behind: isBehind ? furthestBehind(streams, position) : [],
      },
      objects: this.#reaches.list(),
      refusals: this.#refusals.list(),
      findings: distinctFindings(core),
    };
  }

  #noteChange(): void {
    this.#isDirty = true;
    this.changed.wake();
  }

  #noteStreams(): void {
    this.#streamsVersion++;
    this.#noteChange();
  }
}

const everyMs = 200;
/** After the first change out of quiet: others come with it. */
const gatherMs = 100;
/** For what has time: recounts while nothing else changes, and changes whose answers are coming in. */
const patienceMs = 1_000;
/** Reported again unchanged after this, well before it vanishes. */
const againMs = distributionTtlMs / 3;
const maxBehind = 5;
const maxFindings = 200;

/** Writes reports until `stop` fires. @throws BusError when a report is not written; the next run writes it. */
export function distributionReports(distribution: Distribution): (bus: Bus, stop: AbortSignal) => Promise<void> {
  const id = randomUUID();
  let report: Uint8Array | undefined;
  return async (bus, stop) => {
    const values = await bus.keyValue(distributionBucket, { ttlMs: distributionTtlMs });
    let reported: Uint8Array | undefined;
    let reportedAtMs = Number.NEGATIVE_INFINITY;
    while (!stop.aborted) {
      const next = distribution.next();
      if (next !== undefined) report = encodeDistribution(next);
      const isOther = report !== reported && !isEqual(report, reported);
      const isDue = isOther || performance.now() - reportedAtMs > againMs;
      if (report !== undefined && isDue && bus.state.connected) {
        await values.put(id, report);
        [reported, reportedAtMs] = [report, performance.now()];
      } else if (!isOther && distribution.isComplete) {
        const leftMs = Math.max(everyMs, reportedAtMs + againMs - performance.now());
        if (await distribution.changed.waitShared(stop, leftMs)) await delay(gatherMs, stop);
        continue;
      }
      await delay(everyMs, stop);
    }
    // Its proxies go to other replicas: who waits for them need not wait for this one's silence.
    if (bus.state.connected) await values.delete(id);
  };
}

function isEqual(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  return a !== undefined && b !== undefined && Buffer.compare(a, b) === 0;
}

function countByPosition(standings: readonly Standing[]): readonly (readonly [number, number])[] {
  const counts = new Map<number, number>();
  for (const { position, count } of standings) counts.set(position, (counts.get(position) ?? 0) + count);
  return [...counts].sort(([a], [b]) => a - b);
}

function furthestBehind(streams: readonly StreamRecord[], position: number): readonly string[] {
  return streams
    .filter((stream) => stream.answeredPosition() < position)
    .sort((a, b) => a.answeredPosition() - b.answeredPosition())
    .slice(0, maxBehind)
    .map(({ proxy }) => proxy.id);
}

function distinctFindings(core: Core): readonly ObjectFinding[] {
  const found = new Map(core.findings().map(({ object, message }) => [`${object} ${message}`, { object, message }]));
  return [...found.values()].slice(0, maxFindings);
}
