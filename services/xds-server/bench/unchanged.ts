/**
 * The cost for xds-server of changes that no proxy can see, while proxies are connected: as many rounds idle, then as many with changes. In
 * the mean of them, as one collection of V8's old generation costs as much as a round, and falls into any.
 */
import { readFileSync } from "node:fs";
import { delay } from "@flotilla/runtime";
import type { MeshFiles } from "./table-mesh.ts";

const [settleMs, rounds, roundMs] = [5_000, 5, 5_000];
/** For so long the proxies have to stay. */
export const unchangedMs = settleMs + 2 * rounds * roundMs;

export interface UnchangedOptions {
  readonly files: MeshFiles;
  /** Of xds-server. */
  readonly pid: number;
  readonly healthUrl: string;
}

/** `objects`: that get another annotation in a round. */
export async function measureUnchanged({ files, pid, healthUrl }: UnchangedOptions, objects: number) {
  await delay(settleMs);
  const sent = await messagesSent(healthUrl);
  const idle = await cpuOfRound(pid, () => undefined);
  const busy = await cpuOfRound(pid, (round) => files.annotate(round, objects));
  return {
    "CPU of five idle seconds, s": idle,
    "CPU beyond that, s": busy - idle,
    "messages sent": (await messagesSent(healthUrl)) - sent,
  };
}

async function cpuOfRound(pid: number, work: (round: number) => void): Promise<number> {
  const before = cpuSeconds(pid);
  for (let round = 1; round <= rounds; round++) {
    work(round);
    await delay(roundMs);
  }
  return (cpuSeconds(pid) - before) / rounds;
}

async function messagesSent(healthUrl: string): Promise<number> {
  const text = await (await fetch(`${healthUrl}/metrics`)).text();
  return [...text.matchAll(/^pilot_xds_pushes\{.*\} (\d+)/gm)].reduce((sum, [, count]) => sum + Number(count), 0);
}

/** User and system time in seconds (clock ticks of 10 ms). */
function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /, "")
    .split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
