/** `flotilla logs`: lines of the services' logs in order of time, chosen by level and age, and those that come. */
import { setTimeout as delay } from "node:timers/promises";
import type { logs as definition } from "../definitions/support.ts";
import { GrowingFile, logFilesIn, watchLogs } from "../logs/log-files.ts";
import { describeLogLine, isChosen, type LogLine, mergeByTime, parseLogLine } from "../logs/log-line.ts";
import type { Run } from "../parse/definition.ts";
import { untilSignal } from "../signals.ts";

/** Lines that were written at one moment are shown in order. */
const gatherMs = 50;

export const logs: Run<typeof definition> = async ({ options, operands, terminal, env }) => {
  const { follow, tail, level, since, output, workDir } = options;
  const files = await logFilesIn(workDir, operands.services);
  const choice = { level, sinceMs: since === undefined ? 0 : Date.now() - since };
  const width = Math.max(...files.map(({ replica }) => replica.length));
  const growing = files.map(({ replica, path }) => ({ replica, file: new GrowingFile(path) }));
  const read = async (): Promise<readonly LogLine[]> => {
    const all = growing.map(async ({ replica, file }) =>
      (await file.readLines()).map((raw) => parseLogLine(replica, raw)).filter((line) => isChosen(line, choice)),
    );
    return mergeByTime(await Promise.all(all));
  };
  const show = (lines: readonly LogLine[]) => {
    for (const line of lines)
      terminal.print(output === "json" ? line.raw : describeLogLine(line, width, terminal.paint));
  };
  using requests = untilSignal(env);
  let changed = Promise.withResolvers<void>();
  // Before the first read, so that no line is missed.
  using _watch = follow ? watchLogs(workDir, () => changed.resolve()) : undefined;
  const first = await read();
  show(tail === 0 ? [] : first.slice(-tail));
  if (!follow) return 0;
  while (true) {
    await Promise.race([changed.promise, requests.fired]);
    if (requests.stop.aborted) return 0;
    await delay(gatherMs);
    changed = Promise.withResolvers<void>();
    show(await read());
  }
};
