/** Reports of other processes in shared buckets, as they are now: replicas of ca, and proxies by the xds-server that serves them. */
import { decodeTrustReport, type ProxyTrust, trustReportTtlMs } from "@flotilla/auth";
import { type KeyValue, readValue } from "@flotilla/bus";
import { decodeShape, number, objectOf, text } from "@flotilla/model";
import type { Replica } from "./holdups.ts";
import { stateKey } from "./state-store.ts";

interface Report {
  readonly proxies: readonly ProxyTrust[];
  readonly receivedMs: number;
}

/** A replica of ca that was killed does not hold up rotations for ever. */
const forgottenMs = 86_400_000;
const replicaPrefix = "replica/";

const replicaShape = objectOf({ name: text, seenMs: number, applied: text, root: text });
const decodeReplica = (value: Uint8Array): Replica => decodeShape(value, replicaShape);

/** Of a value that cannot be read the one before holds, for as long as it would have. */
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
    const current = [...this.#reports.values()].filter(
      ({ receivedMs }) => this.#nowMs() - receivedMs < trustReportTtlMs,
    );
    return current.flatMap(({ proxies }) => proxies);
  }

  async followReplicas(values: KeyValue, onState: () => void, stop: AbortSignal): Promise<void> {
    for await (const entry of values.watch(stop)) {
      const { key, value } = entry;
      if (key === stateKey) onState();
      if (!key.startsWith(replicaPrefix)) continue;
      const replica = readValue(values, entry, decodeReplica);
      if (replica !== undefined) this.#replicas.set(key, replica);
      else if (value === undefined) this.#replicas.delete(key);
    }
  }

  async followReports(values: KeyValue, stop: AbortSignal): Promise<void> {
    for await (const entry of values.watch(stop)) {
      const { key, value } = entry;
      const proxies = readValue(values, entry, decodeTrustReport);
      if (proxies !== undefined) this.#reports.set(key, { proxies, receivedMs: this.#nowMs() });
      else if (value === undefined) this.#reports.delete(key);
    }
  }
}

export function replicaKey(name: string): string {
  return `${replicaPrefix}${name}`;
}
