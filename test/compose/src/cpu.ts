/** CPU time that containers, and the engine for them, have taken so far. Linux only. */
import { globSync, readdirSync, readFileSync } from "node:fs";

const ticksPerSecond = 100;

/** Seconds; undefined where the engine keeps its groups elsewhere. */
export function containerSeconds(ids: readonly string[]): number | undefined {
  const usages = ids.map((id) => {
    const [v2] = globSync(`/sys/fs/cgroup/**/*${id}*/cpu.stat`);
    const found = v2 === undefined ? undefined : /^usage_usec (\d+)$/m.exec(readFileSync(v2, "utf8"))?.[1];
    if (found !== undefined) return Number(found) / 1e6;
    const [v1] = globSync(`/sys/fs/cgroup/cpuacct/**/${id}/cpuacct.usage`);
    return v1 === undefined ? undefined : Number(readFileSync(v1, "utf8")) / 1e9;
  });
  return usages.every((usage) => usage !== undefined) ? usages.reduce((sum, usage) => sum + usage, 0) : undefined;
}

/** By process: Docker's daemon, its containerd and the shims of its containers, each with the children that it has waited for. */
export function engineSeconds(): ReadonlyMap<string, number> {
  const processes = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return new Map(processes.flatMap((pid) => (isOfEngine(pid) ? [[pid, secondsOf(pid)]] : [])));
}

/** CPU time of the processes that ran at both times. */
export function engineDifference(from: ReadonlyMap<string, number>, to: ReadonlyMap<string, number>): number {
  return [...from].reduce((sum, [pid, before]) => sum + Math.max(0, (to.get(pid) ?? before) - before), 0);
}

function isOfEngine(pid: string): boolean {
  const words = read(`/proc/${pid}/cmdline`).split("\0");
  const [program = ""] = words;
  if (/(^|\/)containerd-shim/.test(program)) return words.includes("moby");
  return (
    /(^|\/)dockerd$/.test(program) ||
    (/(^|\/)containerd$/.test(program) && words.some((word) => word.endsWith("/containerd/containerd.toml")))
  );
}

/** utime, stime, cutime and cstime. */
function secondsOf(pid: string): number {
  const [, rest = ""] = /^\d+ \(.*\) (.*)$/s.exec(read(`/proc/${pid}/stat`)) ?? [];
  const ticks = rest.split(" ").slice(11, 15).map(Number);
  return ticks.reduce((sum, time) => sum + time, 0) / ticksPerSecond;
}

/** Empty for a process that has ended meanwhile. */
function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ESRCH") return "";
    throw error;
  }
}
