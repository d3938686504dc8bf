/** `flotilla top`: what each replica uses and does, from its metrics; shown once, or again and again. */
import { setTimeout as delay } from "node:timers/promises";
import { sumsOf } from "@flotilla/runtime";
import { requestAt, type ServiceAddress, serviceAddresses } from "../connection.ts";
import type { top as definition } from "../definitions/support.ts";
import { CliError } from "../errors.ts";
import { columns, formatOf, render } from "../output.ts";
import type { Run } from "../parse/definition.ts";
import { untilSignal } from "../signals.ts";
import { LiveArea } from "../supervise/live-area.ts";
import { loadBetween, loadRows, type Reading, type ReplicaLoad, type UnreadReplica } from "../top/load.ts";

export const top: Run<typeof definition> = async ({ options, terminal, env }) => {
  const addresses = serviceAddresses(options);
  const read = async (address: ServiceAddress): Promise<Reading | CliError> => {
    try {
      const request = { service: address.name, path: "/metrics", method: "GET" };
      const answer = await requestAt(address.url, request, options);
      if (answer.ok) return { atMs: Date.now(), sums: sumsOf(await answer.text()) };
      return new CliError("CLI_FAILED", `${address.url}/metrics answers ${answer.status}`);
    } catch (error) {
      if (error instanceof CliError) return error;
      throw error;
    }
  };
  const readAll = () => Promise.all(addresses.map(read));
  const loads = (before: readonly (Reading | CliError)[], now: readonly (Reading | CliError)[]) =>
    addresses.map(({ name, replica = name }, index): ReplicaLoad | UnreadReplica => {
      const [first, second] = [before[index], now[index]];
      if (second === undefined || second instanceof CliError) return { replica, problem: "no answer" };
      return loadBetween(name, replica, first === undefined || first instanceof CliError ? second : first, second);
    });
  using requests = untilSignal(env);
  using area = new LiveArea({ isTTY: terminal.isInteractive, write: (text) => terminal.write(text) });
  const format = formatOf(options);
  let before = await readAll();
  while (true) {
    await delay(options.interval, undefined, { signal: requests.stop }).catch(() => undefined);
    if (requests.stop.aborted) return 0;
    const now = await readAll();
    const text = render(format, loads(before, now), (value) => columns(loadRows(value)));
    if (options.watch) area.draw(text);
    else terminal.print(text);
    if (!options.watch) return now.every((one) => one instanceof CliError) ? 4 : 0;
    before = now;
  }
};
