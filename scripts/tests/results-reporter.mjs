/**
 * Reporter for Node's test runner: one JSON line for each test that ended, `{name, outcome, reason?, file, ms}`, and for each suite that
 * was skipped whole; `ms` of those that are in no suite, and of suites as a whole: `{file, ms}`. The last line has the processor time of the
 * process and of all that it started and waited for: `{processorMs}`, where the system counts it. Plain JavaScript, as Node loads reporters by their path.
 */
import { readFileSync } from "node:fs";

// biome-ignore lint/style/noDefaultExport: Node takes a reporter from the default export.
export default async function* results(events) {
  for await (const { type, data } of events) {
    if (type !== "test:pass" && type !== "test:fail") continue;
    const time = data.nesting === 0 ? { ms: data.details.duration_ms } : {};
    if (data.details.type === "suite" && data.skip === undefined) {
      yield `${JSON.stringify({ file: data.file, ...time })}\n`;
      continue;
    }
    if (type === "test:fail") yield line(data, time, "failed", data.details.error?.message);
    else if (data.skip !== undefined) yield line(data, time, "skipped", data.skip === true ? undefined : data.skip);
    else yield line(data, time, "passed");
  }
  const processorMs = ownProcessorMs();
  if (processorMs !== undefined) yield `${JSON.stringify({ processorMs })}\n`;
}

/** Linux alone counts the time of processes that have ended with the one that waited for them, in hundredths of a second (proc(5)). */
function ownProcessorMs() {
  if (process.platform !== "linux") return undefined;
  const stat = readFileSync("/proc/self/stat", "utf8");
  // The name of the program, in brackets, may contain blanks: utime, stime, cutime and cstime are the 12th to 15th field after it.
  const times = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 15);
  return times.reduce((sum, ticks) => sum + Number(ticks) * 10, 0);
}

function line({ name, file }, time, outcome, reason) {
  return `${JSON.stringify({ name, outcome, ...(reason && { reason: String(reason) }), file, ...time })}\n`;
}
