/** CPU time that containers, and the engine for them, have taken so far. Linux only. */
import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";

const ticksPerSecond = 100;
const engineProcess = /^(dockerd|containerd|containerd-shim.*)$/;

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

/** Of the engine's processes and of the children they have waited for: what starts a health check counts here. */
export function engineSeconds(): number {
  const processes = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const ticks = processes.map((pid) => {
    const file = `/proc/${pid}/stat`;
    if (!existsSync(file)) return 0;
    try {
      const [, name = "", rest = ""] = /^\d+ \((.*)\) (.*)$/s.exec(readFileSync(file, "utf8")) ?? [];
      // utime, stime, cutime and cstime.
      const times = rest.split(" ").slice(11, 15).map(Number);
      return engineProcess.test(name) ? times.reduce((sum, time) => sum + time, 0) : 0;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ESRCH" || (error as NodeJS.ErrnoException).code === "ENOENT")
        return 0;
      throw error;
    }
  });
  return ticks.reduce((sum, time) => sum + time, 0) / ticksPerSecond;
}
