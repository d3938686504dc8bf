/** A replica's evidence of the certificates, proxies and replicas that a rotation waits for, and its report to the others. */
import { type ComparisonSchedule, compareWhenDue, type KeyValue } from "@flotilla/bus";
import type { Logger } from "@flotilla/runtime";
import { isAt } from "./holders.ts";
import { type Holdup, holdupsOf, type Replica } from "./holdups.ts";
import { type Holding, Ledger } from "./ledger.ts";
import { LedgerJournal, type LedgerJournalOptions } from "./ledger-journal.ts";
import { compareLedger, flushLedger, loadLedger } from "./ledger-store.ts";
import { readRecordedSince } from "./recorded-since.ts";
import type { RotationState } from "./rotation-state.ts";
import { replicaKey, SharedView } from "./shared-view.ts";

export interface EvidenceOptions extends Pick<LedgerJournalOptions, "log"> {
  /** Names this replica, over its restarts. */
  readonly name: string;
  /** The longest that a certificate may live. */
  readonly maxTtlMs: number;
  readonly nowMs: () => number;
  /** Keeps a copy of what was issued. */
  readonly journalFile: string;
  /** Selects those of these holders that have ended. */
  readonly endedOf: (holdings: readonly Holding[]) => Promise<ReadonlySet<string>>;
}

export interface EvidenceSummary {
  /** Live certificates on record. */
  readonly certificates: number;
  readonly proxies: number;
  readonly replicas: readonly Replica[];
}

export class GatheredEvidence {
  readonly #ledger = new Ledger();
  readonly #journal: LedgerJournal;
  readonly #options: EvidenceOptions;
  readonly #view: SharedView;
  #reported = { applied: "", root: "", atMs: Number.NEGATIVE_INFINITY };

  constructor(options: EvidenceOptions) {
    this.#options = options;
    this.#view = new SharedView(options.nowMs);
    const { journalFile: file, nowMs, log } = options;
    this.#journal = new LedgerJournal(this.#ledger, { file, nowMs, log });
  }

  /** Restores the certificates that this replica issued in an earlier process. */
  restore(): Promise<void> {
    return this.#journal.restore();
  }

  /** A certificate that this replica issued. */
  record(holding: Holding): void {
    this.#ledger.record(holding);
    this.#journal.record(holding);
  }

  /** Since when every certificate is recorded; undefined: all are. @param rootNotBeforeMs of the root in use */
  async readRecordedSince(values: KeyValue, rootNotBeforeMs: number): Promise<number | undefined> {
    const options = { rootNotBeforeMs, nowMs: this.#options.nowMs(), knownMs: this.#journal.recordedSinceMs };
    const sinceMs = await readRecordedSince(values, options);
    this.#journal.recordSince(sinceMs ?? 0);
    return sinceMs;
  }

  /** Follows the reports of other replicas, and calls `onState` when the state of the rotation was written, until `stop` fires. */
  async follow(
    values: KeyValue,
    reports: KeyValue,
    { onState, stop }: { readonly onState: () => void; readonly stop: AbortSignal },
  ): Promise<void> {
    await Promise.all([this.#view.followReplicas(values, onState, stop), this.#view.followReports(reports, stop)]);
  }

  /** Reports what was issued here, and that this replica is there, the same again no sooner than after `againMs`. */
  async report(values: KeyValue, state: Pick<Replica, "applied" | "root">, againMs: number): Promise<void> {
    const { name, nowMs } = this.#options;
    await flushLedger(this.#ledger, values, nowMs);
    const { applied, root, atMs } = this.#reported;
    const isSame = applied === state.applied && root === state.root;
    if (isSame && performance.now() - atMs < againMs) return;
    const record: Replica = { name, seenMs: nowMs(), ...state };
    await values.put(replicaKey(name), new TextEncoder().encode(JSON.stringify(record)));
    this.#reported = { ...state, atMs: performance.now() };
  }

  /** Marks certificates that the bus lost, so that the next `report` writes them again. Resolves to their number. @throws what the bus throws */
  compare(values: KeyValue): Promise<number> {
    return compareLedger(this.#ledger, values, this.#options.nowMs);
  }

  /** This replica is not waited for any more. */
  async sayGoodbye(values: KeyValue): Promise<void> {
    await this.#journal.flushed();
    await values.delete(replicaKey(this.#options.name));
  }

  /** @param recordedSinceMs certificates from before are not in the ledger; undefined: all are */
  async holdups(
    state: RotationState,
    { values, recordedSinceMs }: { readonly values: KeyValue; readonly recordedSinceMs: number | undefined },
  ): Promise<readonly Holdup[]> {
    if (state.phase === "idle") return [];
    const { nowMs, maxTtlMs, endedOf } = this.#options;
    await loadLedger(this.#ledger, values);
    const [holdings, proxies, replicas] = [this.#ledger.holdings(nowMs()), this.#view.proxies(), this.#view.replicas()];
    const ended = await endedOf(holdings.filter((holding) => !proxies.some((proxy) => isAt(proxy, holding))));
    return holdupsOf(state, { holdings, proxies, ended, replicas, recordedSinceMs, maxTtlMs, nowMs: nowMs() });
  }

  /** Live certificates of this replica's record, the first to end first. */
  endings(most: number): readonly Holding[] {
    const live = this.#ledger.holdings(this.#options.nowMs());
    return live.toSorted((a, b) => a.notAfterMs - b.notAfterMs).slice(0, most);
  }

  summary(): EvidenceSummary {
    return {
      certificates: this.#ledger.holdings(this.#options.nowMs()).length,
      proxies: this.#view.proxies().length,
      replicas: this.#view.replicas(),
    };
  }
}

export interface EvidenceComparison extends Pick<ComparisonSchedule, "bus"> {
  readonly values: KeyValue;
  readonly evidence: Pick<GatheredEvidence, "compare">;
  readonly log: Logger;
}

const compareEveryMs = 60_000;

/**
 * Writes records that the bus has lost again, until `stop` fires. Compares at the start, too: records of certificates that were issued before
 * this process ran may not be stored.
 */
export function compareEvidence({ bus, values, evidence, log }: EvidenceComparison, stop: AbortSignal): Promise<void> {
  const compare = async (): Promise<boolean> => {
    try {
      const missing = await evidence.compare(values);
      if (missing > 0) log.error("the bus lost records of certificates, which are written again", { missing });
      return true;
    } catch (error) {
      log.warn("recorded and stored certificates not compared, trying again later", { error });
      return false;
    }
  };
  return compareWhenDue({ bus, everyMs: compareEveryMs, atStart: true }, compare, stop);
}
