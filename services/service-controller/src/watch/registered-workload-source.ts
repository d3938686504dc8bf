/**
 * Machines that are connected to any replica of xds-server. One that is on no report stays for the grace, so that it may connect
 * to another replica, or the replica may come back; then it is gone.
 */
import { type Bus, readValue } from "@flotilla/bus";
import {
  decodeRegisteredWorkloads,
  equalJson,
  type RegisteredWorkload,
  registeredWorkloadClaimText,
  registrationReportBucket,
  registrationReportTtlMs,
} from "@flotilla/model";
import type { RegisteredWorkloadChange } from "@flotilla/registry";
import { type FailingWork, keepTrying, type Logger, orAborted, Wakeup } from "@flotilla/runtime";
import type { MachineCounters } from "../metrics.ts";
import type { InputGroup, InputSource } from "./input-source.ts";

export interface RegisteredWorkloadSourceOptions {
  readonly bus: Bus;
  readonly graceMs: number;
  readonly log: Logger;
  readonly failures?: FailingWork;
  readonly nowMs: () => number;
  readonly counters: MachineCounters;
}

/** Entries present at start come at once: a pause means that all have come. */
const quietMs = 200;
const sweepMs = 1_000;

export function registeredWorkloadSource(options: RegisteredWorkloadSourceOptions): InputSource {
  const registered = new RegisteredMachines(options);
  return {
    name: "machines",
    problems: () => [],
    groups: (stop) => followMachines(registered, options, stop),
    [Symbol.asyncDispose]: async () => undefined,
  };
}

async function* followMachines(
  registered: RegisteredMachines,
  { bus, nowMs, failures, log, counters }: RegisteredWorkloadSourceOptions,
  stop: AbortSignal,
): AsyncGenerator<InputGroup, void, undefined> {
  // A bucket that cannot be opened yet is waited for: the other sources would be published without the machines.
  const values = await keepTrying(
    () => orAborted(bus.keyValue(registrationReportBucket, { ttlMs: registrationReportTtlMs }), stop),
    { what: "reports of machines", log, failures, random: Math.random },
    stop,
  );
  const wakeup = new Wakeup();
  const ended = new AbortController();
  const running = AbortSignal.any([stop, ended.signal]);
  let failure: { readonly cause: unknown } | undefined;
  const reading = (async () => {
    for await (const entry of values.watch(running)) {
      const machines = readValue(values, entry, decodeRegisteredWorkloads);
      // One that cannot be read: the one before holds.
      if (machines === undefined && entry.value !== undefined) {
        counters.failed.add(1);
        continue;
      }
      registered.report(entry.key, machines);
      wakeup.wake();
    }
  })().catch((cause: unknown) => {
    failure = { cause };
    wakeup.wake();
  });
  try {
    while (await wakeup.wait(running, quietMs));
    if (!running.aborted) yield { inputs: registered.sweep(), eventTimeMs: nowMs() };
    while (!running.aborted && failure === undefined) {
      await wakeup.waitShared(running, sweepMs);
      const inputs = registered.sweep();
      if (inputs.length > 0 && !running.aborted) yield { inputs, eventTimeMs: nowMs() };
    }
    if (failure !== undefined && !stop.aborted) throw failure.cause;
  } finally {
    ended.abort();
    await reading;
  }
}

interface Report {
  readonly machines: readonly RegisteredWorkload[];
  readonly atMs: number;
}

interface Registered {
  readonly machine: RegisteredWorkload;
  /** On no report since; absent while it is on one. */
  readonly lostAtMs?: number;
}

class RegisteredMachines {
  readonly #options: RegisteredWorkloadSourceOptions;
  readonly #reports = new Map<string, Report>();
  readonly #known = new Map<string, Registered>();

  constructor(options: RegisteredWorkloadSourceOptions) {
    this.#options = options;
  }

  report(replica: string, machines: readonly RegisteredWorkload[] | undefined): void {
    if (machines === undefined) this.#reports.delete(replica);
    else this.#reports.set(replica, { machines, atMs: this.#options.nowMs() });
  }

  /** Changes since the last call. */
  sweep(): readonly RegisteredWorkloadChange[] {
    const { graceMs, nowMs, counters } = this.#options;
    const now = nowMs();
    const changes: RegisteredWorkloadChange[] = [];
    const connected = this.#connected(now);
    for (const [text, machine] of connected) {
      const before = this.#known.get(text);
      this.#known.set(text, { machine });
      if (before !== undefined && equalJson(before.machine, machine)) continue;
      (before === undefined ? counters.registered : counters.updated).add(1);
      changes.push({ type: "machine", op: "put", machine });
    }
    for (const [text, { machine, lostAtMs }] of this.#known) {
      if (connected.has(text)) continue;
      if (lostAtMs === undefined) {
        const lost = { ...machine, disconnectedAtMs: now };
        this.#known.set(text, { machine: lost, lostAtMs: now });
        counters.disconnected.add(1);
        changes.push({ type: "machine", op: "put", machine: lost });
      } else if (now - lostAtMs >= graceMs) {
        this.#known.delete(text);
        counters.removed.add(1);
        changes.push({ type: "machine", op: "delete", machine });
      }
    }
    return changes;
  }

  /** On several reports while it moves: the newest connection counts, of those with the same proof. */
  #connected(now: number): ReadonlyMap<string, RegisteredWorkload> {
    const connected = new Map<string, RegisteredWorkload>();
    for (const [replica, { machines, atMs }] of this.#reports) {
      if (now - atMs > registrationReportTtlMs) {
        this.#reports.delete(replica);
        continue;
      }
      for (const machine of machines) {
        const text = registeredWorkloadClaimText(machine);
        const other = connected.get(text);
        if (other === undefined || other.connectedAtMs < machine.connectedAtMs) connected.set(text, machine);
      }
    }
    return connected;
  }
}
