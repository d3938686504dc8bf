/** The ledger over its bucket on the bus. */
import type { Bus } from "@flotilla/bus";
import type { Logger } from "@flotilla/runtime";
import type { PublishedConfig } from "../follow/published-config.ts";
import { Ledger } from "./ledger.ts";
import { LedgerRing } from "./ledger-ring.ts";

export interface OpenLedgerOptions {
  readonly bus: Bus;
  /** Not begun yet: the ledger wants to see its beginning. */
  readonly published: PublishedConfig;
  /** How many records are kept. */
  readonly size: number;
  readonly log: Logger;
}

export interface RunningLedger {
  readonly ledger: Ledger;
  /** Runs until `stop` fires. */
  run(stop: AbortSignal): Promise<void>;
}

/** Headers and what NATS itself adds. */
const spareBytes = 4_096;

/** @throws what the bus throws */
export async function openLedger({ bus, published, size, log }: OpenLedgerOptions): Promise<RunningLedger> {
  const ring = new LedgerRing({ values: await bus.keyValue("ledger"), size });
  await ring.load();
  const ledger = new Ledger({ published, ring, maxBytes: bus.maxMessageBytes - spareBytes, log });
  const run = async (stop: AbortSignal) => void (await Promise.all([ledger.run(stop), ring.watch(stop)]));
  return { ledger, run };
}
