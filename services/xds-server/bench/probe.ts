/** `xdsprobe load`: the proxies of a run in another process, and another implementation of the protocol than ours. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

interface Quantiles {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** The parts of its report that the figures are made of. */
export interface ProbeReport {
  readonly allSyncedMs: number;
  readonly push: Quantiles;
  readonly pushCompletion: Quantiles;
  readonly triggers?: readonly (Quantiles & {
    readonly missed: number;
    readonly received: Readonly<Record<string, { readonly bytes: number }>>;
  })[];
  readonly server: {
    readonly cpuSyncSeconds: number;
    readonly cpuPerTriggerSeconds: number;
    readonly rssPeakMiB: number;
    readonly rssEndMiB: number;
  };
  readonly errors?: Readonly<Record<string, number>>;
}

export interface ProbeRun {
  readonly binary: string;
  /** `host:port` of ADS. */
  readonly address: string;
  readonly count: number;
  readonly ramp: string;
  readonly form: "delta" | "sotw";
  /** File with the nodes. */
  readonly template: string;
  readonly pids: readonly number[];
  readonly triggers: number;
  readonly triggerCommand?: string;
  readonly hold?: string;
  readonly syncTimeout?: string;
  /** Directory with tls.crt, tls.key and ca.crt: mutual TLS. */
  readonly certificates?: string;
  /** File for the report. */
  readonly out: string;
}

/** @throws when not all proxies were synced, or an edit was missed by one. */
export async function probe(options: ProbeRun): Promise<ProbeReport> {
  const { binary, address, count, ramp, form, template, pids, triggers, out } = options;
  const { certificates, triggerCommand, hold, syncTimeout } = options;
  await run(binary, [
    "load",
    ...["--addr", address, "--count", String(count), "--ramp", ramp, "--delta-share", form === "delta" ? "1" : "0"],
    ...["--template", template, "--pid", pids.join(","), "--out", out, "--triggers", String(triggers)],
    ...(certificates === undefined ? [] : tlsFlags(certificates)),
    ...(triggerCommand === undefined ? [] : ["--trigger-cmd", triggerCommand]),
    ...(hold === undefined ? [] : ["--hold", hold]),
    ...(syncTimeout === undefined ? [] : ["--sync-timeout", syncTimeout]),
  ]);
  const report = JSON.parse(readFileSync(out, "utf8")) as ProbeReport;
  const missed = (report.triggers ?? []).reduce((sum, trigger) => sum + trigger.missed, 0);
  if (missed > 0) throw new Error(`${missed} edits were missed by a proxy`);
  return report;
}

function tlsFlags(directory: string): readonly string[] {
  const file = (name: string) => join(directory, name);
  const files = ["--cert", file("tls.crt"), "--key", file("tls.key"), "--ca", file("ca.crt")];
  return [...files, "--server-name", "istiod.istio-system.svc"];
}

function run(binary: string, args: readonly string[]): Promise<void> {
  const child = spawn(binary, args, { stdio: ["ignore", "ignore", "inherit"] });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => (code === 0 ? resolve() : reject(new Error(`${binary} ended with code ${code}`))));
  });
}
