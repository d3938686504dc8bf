/**
 * Fetches the public keys of issuers and adds them to the configuration as IssuerKeys objects, so that every xds-server sends the same.
 * Only the replica that publishes fetches. The last good set stays while an issuer does not answer; without any, tokens are refused.
 */
import { type IssuerKeysSpec, issuerKeysKey, issuerKeysKind } from "@flotilla/auth";
import type { Config, ConfigChange, ConfigKey } from "@flotilla/model";
import { backoff, type Counter, type Logger, Wakeup } from "@flotilla/runtime";
import type { KindListener } from "../aggregate/merge-sources.ts";
import type { ConfigGroup, ConfigSource } from "../watch/config-source.ts";
import { IssuerKeysError } from "./key-errors.ts";
import { type KeySource, KeySources } from "./key-sources.ts";

export const issuerKeysName = "issuer keys";

export interface IssuerKeysOptions {
  readonly fetch: (source: string, timeoutMs: number, stop: AbortSignal) => Promise<string>;
  readonly view: { list(kind: string): readonly Config[] };
  readonly published: { get(key: ConfigKey): { readonly config: Config } | undefined };
  /** Proxies fetch by URI themselves. */
  readonly proxiesFetch: boolean;
  /** Between two fetches that succeed, ±10 %. */
  readonly refreshMs: number;
  readonly nowMs: () => number;
  /** In [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  readonly fetched?: Pick<Counter, "add">;
  readonly failed?: Pick<Counter, "add">;
}

interface Entry extends KeySource {
  dueMs: number;
  /** Of the set in force; of one that was taken over, when that was. */
  fetchedMs: number;
  spec: IssuerKeysSpec | undefined;
  waits: Generator<number, never> | undefined;
  isAsked: boolean;
}

const inFlightAtOnce = 8;
const firstRetryMs = 1_000;
const longestRetryMs = 3_600_000;
/** A set that could not be fetched again for so long is forgotten, as in istiod. */
const keptMs = 7 * 86_400_000;

export class IssuerKeys {
  readonly #options: IssuerKeysOptions;
  readonly #sources: KeySources;
  readonly #entries = new Map<string, Entry>();
  /** Names of objects that hold what this replica fetched or took over while it publishes. */
  readonly #current = new Set<string>();
  readonly #waiting: ConfigChange[] = [];
  readonly #changed = new Wakeup();
  readonly #due = new Wakeup();
  #isLoaded = false;
  #term: AbortSignal | undefined;

  constructor(options: IssuerKeysOptions) {
    this.#options = options;
    this.#sources = new KeySources(options.proxiesFetch);
  }

  /** Of RequestAuthentications in the view: which keys they need. */
  readonly listener: KindListener = {
    onLoaded: () => {
      this.#isLoaded = true;
      for (const config of this.#options.view.list("RequestAuthentication")) this.#note(config.key, config);
    },
    onChange: (key, config) => this.#note(key, config),
  };

  /** Of objects in the view: this replica's data from an earlier term may be old. */
  readonly isPublished = ({ kind, name }: ConfigKey): boolean => kind !== issuerKeysKind || this.#current.has(name);

  asSource(): ConfigSource {
    return {
      name: issuerKeysName,
      problems: () => [],
      groups: (stop) => this.#groups(stop),
      isIncomplete: ({ kind, name }) =>
        kind === issuerKeysKind && !this.#current.has(name) && (!this.#isLoaded || this.#sources.isNeeded(name)),
      [Symbol.asyncDispose]: async () => undefined,
    };
  }

  /** Fetches while this replica publishes, until `term` ends. */
  async lead(term: AbortSignal): Promise<void> {
    const inFlight = new Set<Promise<void>>();
    this.#term = term;
    for (const entry of this.#entries.values()) this.#takeOver(entry);
    try {
      while (!term.aborted) {
        const now = this.#options.nowMs();
        const idle = [...this.#entries.values()].filter(({ isAsked }) => !isAsked);
        for (const entry of idle.filter(({ dueMs }) => dueMs <= now).slice(0, inFlightAtOnce - inFlight.size)) {
          const asking = this.#ask(entry, term).finally(() => {
            inFlight.delete(asking);
            this.#due.wake();
          });
          inFlight.add(asking);
        }
        const isFull = inFlight.size === inFlightAtOnce;
        const next = Math.min(...idle.filter(({ isAsked }) => !isAsked).map(({ dueMs }) => dueMs));
        await this.#due.wait(term, isFull ? undefined : Math.max(0, next - now));
      }
    } finally {
      this.#term = undefined;
      this.#current.clear();
      await Promise.all(inFlight);
    }
  }

  async *#groups(stop: AbortSignal): AsyncGenerator<ConfigGroup, void, undefined> {
    const { nowMs } = this.#options;
    yield { changes: [], eventTimeMs: nowMs() };
    while (!stop.aborted) {
      await this.#changed.wait(stop);
      const changes = this.#waiting.splice(0);
      if (changes.length > 0) yield { changes, eventTimeMs: nowMs() };
    }
  }

  #note(key: ConfigKey, config: Config | undefined): void {
    const { added, removed } = this.#sources.note(key, config);
    for (const { name, source } of removed) {
      if (this.#sources.isNeeded(name)) continue;
      this.#entries.delete(name);
      this.#current.delete(name);
      this.#emit({ type: "config", op: "delete", key: issuerKeysKey(source) });
    }
    for (const one of added) {
      if (this.#entries.has(one.name)) continue;
      const entry = { ...one, dueMs: 0, fetchedMs: 0, spec: undefined, waits: undefined, isAsked: false };
      this.#entries.set(one.name, entry);
      if (this.#term !== undefined) this.#takeOver(entry);
    }
    this.#due.wake();
  }

  /** Keys that another replica, or this one before its restart, had fetched stay in force until there is something newer. */
  #takeOver(entry: Entry): void {
    const config = this.#options.published.get(issuerKeysKey(entry.source))?.config;
    entry.dueMs = 0;
    entry.waits = undefined;
    if (config === undefined) return;
    entry.fetchedMs = this.#options.nowMs();
    this.#put(entry, config.spec as IssuerKeysSpec);
  }

  /** Never rejects. */
  async #ask(entry: Entry, term: AbortSignal): Promise<void> {
    const { fetch, nowMs, random, refreshMs, log, fetched, failed } = this.#options;
    const { source, timeoutMs } = entry;
    entry.isAsked = true;
    try {
      const jwks = await fetch(source, timeoutMs, term);
      if (!this.#isCurrent(entry, term)) return;
      fetched?.add(1);
      if (entry.spec?.jwks !== jwks) log.info("issuer keys fetched", { source });
      entry.fetchedMs = nowMs();
      entry.waits = undefined;
      entry.dueMs = nowMs() + refreshMs * (0.9 + random() * 0.2);
      this.#put(entry, { source, jwks });
    } catch (error) {
      if (!this.#isCurrent(entry, term)) return;
      failed?.add(1);
      entry.waits ??= backoff({ firstMs: firstRetryMs, maxMs: Math.min(refreshMs, longestRetryMs), random });
      entry.dueMs = nowMs() + entry.waits.next().value;
      this.#putFailure(entry, error);
    } finally {
      entry.isAsked = false;
    }
  }

  #putFailure(entry: Entry, error: unknown): void {
    const { nowMs, log } = this.#options;
    const { source, spec, fetchedMs } = entry;
    const known = error instanceof IssuerKeysError ? error : undefined;
    const reason = known?.reason ?? "cannot be read";
    const isKept = spec?.jwks !== undefined && nowMs() - fetchedMs < keptMs;
    // The same trouble is logged once, not for each attempt.
    if (spec?.error !== reason) log.warn("issuer keys not fetched", { source, lastGoodKept: isKept, error });
    this.#put(entry, {
      source,
      ...(isKept && { jwks: spec.jwks }),
      error: reason,
      ...(known?.code === "KEYS_UNREACHABLE" && { isUnreachable: true }),
    });
  }

  /** True while the term that asked goes on, and an object needs the keys. */
  #isCurrent(entry: Entry, term: AbortSignal): boolean {
    return this.#term === term && !term.aborted && this.#entries.get(entry.name) === entry;
  }

  #put(entry: Entry, spec: IssuerKeysSpec): void {
    entry.spec = spec;
    this.#current.add(entry.name);
    const key = issuerKeysKey(entry.source);
    this.#emit({
      type: "config",
      op: "put",
      key,
      value: { key, labels: {}, annotations: {}, creationTimeMs: 0, spec },
    });
  }

  #emit(change: ConfigChange): void {
    this.#waiting.push(change);
    this.#changed.wake();
  }
}
