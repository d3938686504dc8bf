/**
 * Verdicts on tokens, kept until the token expires or `maxAgeMs` has passed: a token that is revoked is refused after that
 * time at the latest, also when the clock is set back. Bounded; the one that was used longest ago leaves first. Tokens are kept as hashes.
 */
import { createHash } from "node:crypto";
import type { Authenticated } from "./authenticator.ts";

/** Bounds of the cache: entries, and the age of a verdict in milliseconds. */
export interface VerdictCacheOptions {
  readonly maxEntries: number;
  readonly maxAgeMs: number;
  readonly nowMs: () => number;
}

interface Entry {
  readonly verdict: Authenticated;
  readonly putMs: number;
  readonly untilMs: number;
}

/** A bounded cache of verdicts by the hash of the token, least recently used first out. */
export class VerdictCache {
  readonly #entries = new Map<string, Entry>();
  readonly #options: VerdictCacheOptions;

  constructor(options: VerdictCacheOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** `scope` keeps verdicts of different reviewers apart, such as clusters. */
  get(scope: string, token: string): Authenticated | undefined {
    const key = keyOf(scope, token);
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    const now = this.#options.nowMs();
    if (now < entry.putMs || now >= entry.untilMs) return undefined;
    this.#entries.set(key, entry);
    return entry.verdict;
  }

  put(scope: string, token: string, verdict: Authenticated, expiresMs: number): void {
    const { maxEntries, maxAgeMs, nowMs } = this.#options;
    const now = nowMs();
    const untilMs = Math.min(expiresMs, now + maxAgeMs);
    if (untilMs <= now || maxEntries < 1) return;
    while (this.#entries.size >= maxEntries) {
      const [oldest] = this.#entries.keys();
      if (oldest === undefined) break;
      this.#entries.delete(oldest);
    }
    this.#entries.set(keyOf(scope, token), { verdict, putMs: now, untilMs });
  }
}

function keyOf(scope: string, token: string): string {
  return createHash("sha256").update(scope).update("\0").update(token).digest("base64");
}
