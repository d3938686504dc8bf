/** `flotilla logs`: lines of the services' logs in order of time, chosen by level and age, and those that come. */
import { setTimeout as delay } from "node:timers/promises";
import type { logs as definition } from "../definitions/support.ts";
import { CliError } from "../errors.ts";
import { GrowingFile, logFilesIn, watchLogs } from "../logs/log-files.ts";
import { describeLogLine, isChosen, type LogLine, mergeByTime, parseLogLine } from "../logs/log-line.ts";
import { readComposeLogs, readPodLogs } from "../logs/streamed-logs.ts";
import type { Run } from "../parse/definition.ts";
import { untilSignal } from "../signals.ts";

/** Lines that were written at one moment are shown in order. */
const gatherMs = 50;

export const logs: Run<typeof definition> = (call) => {
  const { compose, context, kubeconfig } = call.options;
  if (compose && (context ?? kubeconfig) !== undefined)
    throw new CliError(
      "CLI_USAGE",
      "--compose and --context or --kubeconfig name two control planes: give one of them",
    );
  return compose || context !== undefined || kubeconfig !== undefined ? logsOfOutputs(call) : logsOfFiles(call);
};

type Call = Parameters<Run<typeof definition>>[0];

/** Prints lines as people or scripts read them; `width` is that of the longest name. */
function printer({ options, terminal }: Call, width: number): (line: LogLine) => void {
  return (line) => terminal.print(options.output === "json" ? line.raw : describeLogLine(line, width, terminal.paint));
}

/** Pods and containers write to their output: all is read, and put into order unless it is followed. */
async function logsOfOutputs(call: Call): Promise<0> {
  const { options, operands, env } = call;
  const { follow, tail, level, since } = options;
  const choice = { level, sinceMs: since === undefined ? 0 : Date.now() - since };
  const wanted = {
    ...{ names: operands.services, follow },
    sinceSeconds: since === undefined ? undefined : Math.ceil(since / 1_000),
  };
  const byReplica = new Map<string, LogLine[]>();
  const print = printer(call, "service-controller".length);
  const onLine = (replica: string, raw: string) => {
    const line = parseLogLine(replica, raw);
    if (!isChosen(line, choice)) return;
    if (follow) return print(line);
    const lines = byReplica.get(replica) ?? [];
    byReplica.set(replica, lines);
    lines.push(line);
  };
  using requests = untilSignal(env);
  if (options.compose) await readComposeLogs(wanted, env, onLine, requests.stop);
  else {
    // Loaded for clusters only: it takes a second.
    const { openUsersCluster } = await import("../api/cluster-objects.ts");
    using api = await openUsersCluster(options.kubeconfig, env, options.context);
    await readPodLogs({ api, namespace: options.namespace }, wanted, onLine, requests.stop);
  }
  const lines = mergeByTime([...byReplica.values()]);
  const printAligned = printer(call, Math.max(0, ...[...byReplica.keys()].map(({ length }) => length)));
  for (const line of tail === 0 ? [] : lines.slice(-tail)) printAligned(line);
  return 0;
}

async function logsOfFiles(call: Call): Promise<0> {
  const { options, operands, env } = call;
  const { follow, tail, level, since, workDir } = options;
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
  const print = printer(call, width);
  const show = (lines: readonly LogLine[]) => lines.forEach(print);
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
}
