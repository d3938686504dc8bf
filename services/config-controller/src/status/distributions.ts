/** Reports of the xds-server replicas on how far the configuration has come, merged for one object. */
import { type Bus, type KeyValue, readValue } from "@flotilla/bus";
import {
  type DistributionReport,
  decodeDistribution,
  distributionBucket,
  distributionTtlMs,
  ownValue,
  type ProxyRefusal,
} from "@flotilla/model";
import { sharedDelay } from "@flotilla/runtime";

/** How far one change of an object has come. */
export interface ObjectDistribution {
  /** Proxies that have it in effect. */
  readonly live: number;
  /** Proxies that it concerns, or may concern: those that have yet to answer count until they have. */
  readonly concerned: number;
  /** Proxies that refuse something made from it, with their words. */
  readonly refusals: readonly ProxyRefusal[];
  /** False: which proxies it concerns is not known on every replica, and all of those are counted. */
  readonly isPrecise: boolean;
  /** Some that have yet to answer. */
  readonly behind: readonly string[];
  /** Replicas of xds-server that report. */
  readonly replicas: number;
}

export interface Change {
  /** `Kind/namespace/name`. */
  readonly object: string;
  /** The generation that must have come. */
  readonly position: number;
  readonly epoch: string;
}

interface Reported {
  readonly report: DistributionReport;
  readonly atMs: number;
}

const sweepMs = 1_000;
const maxBehind = 5;

export class Distributions {
  readonly #nowMs: () => number;
  readonly #reports = new Map<string, Reported>();
  readonly #listeners = new Set<() => void>();

  constructor({ nowMs }: { readonly nowMs: () => number }) {
    this.#nowMs = nowMs;
  }

  /** Runs until `stop` fires. */
  async watch(bus: Bus, stop: AbortSignal): Promise<void> {
    const values = await bus.keyValue(distributionBucket, { ttlMs: distributionTtlMs });
    await Promise.all([this.#follow(values, stop), this.#sweep(stop)]);
  }

  /** Called when something may be different. */
  listen(listener: () => void): void {
    this.#listeners.add(listener);
  }

  note(replica: string, report: DistributionReport | undefined): void {
    if (report === undefined) this.#reports.delete(replica);
    else this.#reports.set(replica, { report, atMs: this.#nowMs() });
    for (const listener of this.#listeners) listener();
  }

  /** A replica of xds-server reports. */
  get hasReports(): boolean {
    return this.#reports.size > 0;
  }

  /** Conflicts and errors that replicas found in what proxies get, by object. */
  findings(): ReadonlyMap<string, readonly string[]> {
    const found = new Map<string, Set<string>>();
    for (const { report } of this.#reports.values())
      for (const { object, message } of report.findings)
        found.set(object, (found.get(object) ?? new Set()).add(message));
    return new Map([...found].map(([object, messages]) => [object, [...messages]]));
  }

  /** Everything that a connected proxy refuses now. */
  refusals(): readonly ProxyRefusal[] {
    return [...this.#reports.values()].flatMap(({ report }) => report.refusals);
  }

  /** Proxies that have answered everything that their replica has applied, those that have not, and those that refuse something. */
  fleet(): { readonly total: number; readonly synced: number; readonly sending: number; readonly rejected: number } {
    const reports = [...this.#reports.values()].map(({ report }) => report);
    const rejected = new Set(reports.flatMap(({ refusals }) => refusals.map(({ proxy }) => proxy))).size;
    const count = (isMeant: (at: number, position: number) => boolean) =>
      reports.reduce(
        (sum, { answered, position }) =>
          sum + answered.reduce((of, [at, proxies]) => of + (isMeant(at, position) ? proxies : 0), 0),
        0,
      );
    const total = count(() => true);
    const sending = count((at, position) => at < position);
    return { total, sending, rejected, synced: Math.max(0, total - sending - rejected) };
  }

  of(change: Change): ObjectDistribution {
    const reports = [...this.#reports.values()].map(({ report }) => report);
    const parts = reports.map((report) => reachOf(report, change));
    const refusals = reports.flatMap((report) => refusalsOf(report, change));
    const reached = parts.reduce((sum, part) => sum + part.reached, 0);
    const waiting = parts.reduce((sum, part) => sum + part.waiting, 0);
    const refusing = new Set(refusals.map(({ proxy }) => proxy)).size;
    return {
      live: Math.max(0, reached - refusing),
      concerned: reached + waiting,
      refusals,
      isPrecise: parts.every((part) => part.isPrecise),
      behind: waiting === 0 ? [] : reports.flatMap(({ behind }) => behind).slice(0, maxBehind),
      replicas: reports.length,
    };
  }

  /** Of a replica whose report cannot be read the one before holds, for as long as a report does. */
  async #follow(values: KeyValue, stop: AbortSignal): Promise<void> {
    for await (const entry of values.watch(stop)) {
      const report = readValue(values, entry, decodeDistribution);
      if (report !== undefined || entry.value === undefined) this.note(entry.key, report);
    }
  }

  /** Values that expire are not reported: a replica that has not reported again is gone. */
  async #sweep(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      await sharedDelay(sweepMs, stop);
      for (const [replica, { atMs }] of this.#reports)
        if (this.#nowMs() - atMs > distributionTtlMs) this.note(replica, undefined);
    }
  }
}

interface Reach {
  readonly reached: number;
  readonly waiting: number;
  readonly isPrecise: boolean;
}

function reachOf({ epoch, answered, objects }: DistributionReport, change: Change): Reach {
  const all = answered.reduce((sum, [, proxies]) => sum + proxies, 0);
  if (epoch !== change.epoch) return { reached: 0, waiting: all, isPrecise: all === 0 };
  const known = ownValue(objects, change.object);
  if (known !== undefined && known.position >= change.position) return { ...known, isPrecise: true };
  const reached = answered.reduce((sum, [at, proxies]) => sum + (at >= change.position ? proxies : 0), 0);
  return { reached, waiting: all - reached, isPrecise: all === 0 };
}

/** Rejections from before the change do not concern it. */
function refusalsOf({ epoch, refusals }: DistributionReport, change: Change): readonly ProxyRefusal[] {
  if (epoch !== change.epoch) return [];
  return refusals.filter(({ objects, position }) => position >= change.position && objects.includes(change.object));
}
