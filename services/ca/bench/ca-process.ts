/** For benchmarks: ca in a process of its own, and the values of its metrics. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { KeyAlgorithm } from "@flotilla/pki";
import { memoryEnvironment } from "@flotilla/runtime";

export interface RunningCa extends AsyncDisposable {
  readonly grpc: number;
  readonly health: number;
  readonly workDir: string;
}

export async function startCa(keyType: KeyAlgorithm): Promise<RunningCa> {
  const workDir = await mkdtemp(join(tmpdir(), "ca-bench-"));
  const env = {
    ...memoryEnvironment,
    ...process.env,
    WORK_DIR: workDir,
    ROOT_CA_DIR: join(workDir, "none"),
    CA_HOST: "127.0.0.1",
    CA_PORT: "0",
  };
  const more = { HEALTH_HOST: "127.0.0.1", HEALTH_PORT: "0", CA_SELF_SIGNED_KEY: keyType };
  const child = spawn(process.execPath, [join(import.meta.dirname, "../bin/main.ts")], {
    env: { ...env, ...more },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const { health, grpc } = await portsOf(child);
  child.stdout?.resume();
  return {
    grpc,
    health,
    workDir,
    [Symbol.asyncDispose]: async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      child.once("exit", () => resolve());
      child.kill("SIGTERM");
      await promise;
      await rm(workDir, { recursive: true });
    },
  };
}

async function portsOf(child: ChildProcess): Promise<{ grpc: number; health: number }> {
  let [text, health] = ["", 0];
  for await (const chunk of child.stdout?.iterator({ destroyOnReturn: false }) ?? []) {
    text += chunk;
    health = Number(/"url":"http:\/\/[^"]*:(\d+)"/.exec(text)?.[1] ?? health);
    const grpc = /"port":(\d+)[^\n]*certificates issued/.exec(text)?.[1];
    if (grpc !== undefined) return { health, grpc: Number(grpc) };
  }
  throw new Error(`ca ended: ${text}`);
}

export interface CaFigures {
  readonly cpuSeconds: number;
  readonly rssMb: number;
  /** Delays of the event loop since they were asked for before. */
  readonly delayP99Ms: number;
  readonly delayMaxMs: number;
}

export async function metricsOf({ health }: RunningCa): Promise<CaFigures> {
  const text = await (await fetch(`http://127.0.0.1:${health}/metrics`)).text();
  const value = (name: string): number => Number(new RegExp(`^${name} (\\S+)`, "m").exec(text)?.[1] ?? 0);
  return {
    cpuSeconds: value("process_cpu_seconds_total"),
    rssMb: Math.round(value("process_resident_memory_bytes") / 1e6),
    delayP99Ms: Math.round(value("nodejs_eventloop_lag_p99_seconds") * 1000),
    delayMaxMs: Math.round(value("nodejs_eventloop_lag_max_seconds") * 1000),
  };
}
