/** Statistics of an Envoy, in the form that its admin interface and its Prometheus port share: one question, a bounded answer, no redirects. */
import type { StatRow } from "@flotilla/console/contract";
import { RequestRefused } from "../errors.ts";

export interface StatsReader {
  /** @param address `host:port` @throws RequestRefused away, upstream, too-large, too-many */
  read(address: string): Promise<readonly StatRow[]>;
}

export interface StatsReaderOptions {
  readonly timeoutMs: number;
  readonly maxBytes?: number;
  readonly maxAtOnce?: number;
}

/** An Envoy with 2,000 clusters has some 6 MB of statistics that are in use. */
const defaultMaxBytes = 16 * 1024 * 1024;
const defaultMaxAtOnce = 4;

export function createStatsReader(options: StatsReaderOptions): StatsReader {
  const { timeoutMs, maxBytes = defaultMaxBytes, maxAtOnce = defaultMaxAtOnce } = options;
  let running = 0;
  return {
    read: async (address) => {
      if (running >= maxAtOnce)
        throw new RequestRefused("too-many", "statistics of other proxies are being read: try again");
      running += 1;
      try {
        const rows = parseStats(await textOf(address, timeoutMs, maxBytes));
        if (rows.length === 0) throw new RequestRefused("upstream", `${address} answers no statistics of an Envoy`);
        return rows;
      } finally {
        running -= 1;
      }
    },
  };
}

async function textOf(address: string, timeoutMs: number, maxBytes: number): Promise<string> {
  const response = await fetch(`http://${address}/stats/prometheus?usedonly`, {
    redirect: "error",
    signal: AbortSignal.timeout(timeoutMs),
  }).catch((error: unknown) => failed(address, error));
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new RequestRefused("upstream", `the Envoy at ${address} answers ${response.status}`);
  }
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    // Leaving the loop ends the connection.
    for await (const chunk of response.body ?? []) {
      bytes += chunk.byteLength;
      if (bytes > maxBytes) throw new RequestRefused("too-large", `statistics of ${address} exceed ${maxBytes} bytes`);
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof RequestRefused ? error : failed(address, error);
  }
  return Buffer.concat(chunks).toString();
}

function failed(address: string, error: unknown): never {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const reason = cause instanceof Error ? cause.message : String(cause);
  throw new RequestRefused("away", `the Envoy at ${address} does not answer: ${reason}`);
}

/** Of histograms the sum and the count; names without the prefix that all share. Lines of another form are left out. */
export function parseStats(text: string): readonly StatRow[] {
  return text.split("\n").flatMap((line): readonly StatRow[] => {
    const at = line.lastIndexOf(" ");
    const [name, value] = [line.slice(0, at), Number(line.slice(at + 1))];
    if (!line.startsWith("envoy_") || at < 0 || Number.isNaN(value)) return [];
    const labelsAt = name.indexOf("{");
    const base = labelsAt === -1 ? name : name.slice(0, labelsAt);
    if (base.endsWith("_bucket")) return [];
    const labels = labelsAt === -1 ? "" : name.slice(labelsAt).replace(/^\{\}$/, "");
    return [{ name: `${base.slice("envoy_".length)}${labels}`, value }];
  });
}
