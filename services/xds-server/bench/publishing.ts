/** When the changes of a run were published: latency counts from there, whatever a source took before. */
import { readFileSync } from "node:fs";
import { connectBus, filters } from "@flotilla/bus";
import { noopLogger } from "@flotilla/runtime";
import type { ProbeReport } from "./probe.ts";

export interface Publishing extends AsyncDisposable {
  /** Of the messages about such objects, milliseconds since the epoch by the clock of NATS, which is that of this machine. */
  times(of: "config" | "endpoints"): readonly number[];
}

/** With the credentials of xds-server in the URL, which it reads the stream with. */
export async function watchPublishing(busUrl: string): Promise<Publishing> {
  const stop = new AbortController();
  const bus = await connectBus({ url: busUrl, clientName: "xds-server", log: noopLogger }, stop.signal);
  const times = { config: [] as number[], endpoints: [] as number[] };
  const read = async (of: "config" | "endpoints"): Promise<void> => {
    for await (const item of bus.follow({ filters: [filters[of]], afterSequence: 0 }, stop.signal))
      if (item.kind === "message") times[of].push(item.message.storedAtMs);
  };
  const reading = Promise.all([read("config"), read("endpoints")]);
  return {
    times: (of) => times[of],
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await reading;
      await bus[Symbol.asyncDispose]();
    },
  };
}

/** A command before the one that makes the change: notes when it began. */
export function stamped(command: string, file: string): string {
  return `date +%s%N >> '${file}'; ${command}`;
}

/**
 * Per change, from the publishing of its event to the proxies. @throws when a change was not published.
 */
export function sincePublishing(
  triggers: NonNullable<ProbeReport["triggers"]>,
  published: readonly number[],
  stampFile: string,
): readonly { readonly p50Ms: number; readonly p99Ms: number }[] {
  const starts = readFileSync(stampFile, "utf8").trim().split("\n");
  return triggers.map(({ p50Ms, p99Ms }, i) => {
    const startMs = Number(starts[i]) / 1e6;
    const atMs = published.find((time) => time >= startMs);
    if (atMs === undefined) throw new Error(`change ${i + 1} was not published`);
    return { p50Ms: p50Ms - (atMs - startMs), p99Ms: p99Ms - (atMs - startMs) };
  });
}
