/** The ledger over its bucket on the bus, which may be opened later: nothing else waits for the history. */
import type { Bus } from "@flotilla/bus";
import { type FailingWork, type Health, keepRunning, keepTrying, type Logger } from "@flotilla/runtime";
import type { PublishedConfig } from "../follow/published-config.ts";
import { compareStored } from "../store/durable/compare-stored.ts";
import { away } from "../store/durable/object-values.ts";
import { Ledger } from "./ledger.ts";
import { LedgerRing } from "./ledger-ring.ts";

export interface OpenLedgerOptions {
  readonly bus: Bus;
  /** Not begun yet: the ledger needs to see its beginning. */
  readonly published: PublishedConfig;
  /** How many records are kept. */
  readonly size: number;
  readonly compareEveryMs: number;
  readonly health: Pick<Health, "setCondition">;
  readonly failures: FailingWork;
  readonly log: Logger;
}

export interface RunningLedger {
  readonly ledger: Ledger;
  /** Runs until `stop` fires. */
  run(stop: AbortSignal): Promise<void>;
}

/** Headers and what NATS itself adds. */
const spareBytes = 4_096;

export function openLedger(options: OpenLedgerOptions): RunningLedger {
  const { bus, published, log } = options;
  const ledger = new Ledger({ published, maxBytes: bus.maxMessageBytes - spareBytes, log });
  return { ledger, run: (stop) => run(ledger, options, stop) };
}

async function run(ledger: Ledger, options: OpenLedgerOptions, stop: AbortSignal): Promise<void> {
  const { bus, size, compareEveryMs, health, failures, log } = options;
  const retrying = { log, failures, random: Math.random };
  const open = async (): Promise<LedgerRing> => {
    const ring = new LedgerRing({ values: await bus.keyValue("ledger"), size });
    await ring.load();
    return ring;
  };
  const ring = await keepTrying(open, { what: "opening the history", ...retrying }, stop);
  const compare = async (): Promise<readonly string[]> => {
    const lost = await away(() => ring.compare());
    if (lost.length > 0) log.error("the bus lost records of the history, which begins anew", { lost });
    return lost;
  };
  const comparing = {
    ...{ stored: { compare }, bus, everyMs: compareEveryMs, health, log, nowMs: Date.now },
    condition: "lost history",
    lossText: (records: string) => `the bus lost ${records} of the history, which begins anew`,
  };
  const keep = (what: string, work: (until: AbortSignal) => Promise<void>) =>
    keepRunning(work, { what, ...retrying }, stop);
  await Promise.all([
    ledger.keepIn(ring, stop),
    keep("following the history", (until) => ring.watch(until)),
    keep("comparing the history", (until) => compareStored(comparing, until)),
  ]);
}
