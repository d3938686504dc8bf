/** What other processes tell in shared buckets, as it is now: replicas of ca, and proxies by the xds-server that serves them. */
import { decodeTrustReport, type ProxyTrust, trustReportTtlMs } from "@flotilla/auth";
import type { KeyValue } from "@flotilla/bus";
import type { Replica } from "./holdups.ts";

interface Report {
  readonly proxies: readonly ProxyTrust[];
  readonly heardMs: number;
}

/** A replica of ca that was killed does not hold up rotations for ever. */
const forgottenMs = 86_400_000;
const replicaPrefix = "replica/";

export class SharedView {
  readonly #nowMs: () => number;
  readonly #replicas = new Map<string, Replica>();
  readonly #reports = new Map<string, Report>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  replicas(): readonly Replica[] {
    return [...this.#replicas.values()].filter(({ seenMs }) => this.#nowMs() - seenMs < forgottenMs);
  }

  proxies(): readonly ProxyTrust[] {
    const heard = [...this.#reports.values()].filter(({ heardMs }) => this.#nowMs() - heardMs < trustReportTtlMs);
    return heard.flatMap(({ proxies }) => proxies);
  }

  async followReplicas(values: KeyValue, stop: AbortSignal): Promise<void> {
    for await (const { key, value } of values.watch(stop)) {
      if (!key.startsWith(replicaPrefix)) continue;
      if (value === undefined) this.#replicas.delete(key);
      else this.#replicas.set(key, JSON.parse(new TextDecoder().decode(value)) as Replica);
    }
  }

  async followReports(values: KeyValue, stop: AbortSignal): Promise<void> {
    for await (const { key, value } of values.watch(stop)) {
      if (value === undefined) this.#reports.delete(key);
      else this.#reports.set(key, { proxies: decodeTrustReport(value), heardMs: this.#nowMs() });
    }
  }
}

export function replicaKey(name: string): string {
  return `${replicaPrefix}${name}`;
}
