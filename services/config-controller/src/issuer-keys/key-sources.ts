/** Selects the key sets that RequestAuthentications need: each once, as long as an object needs it. */
import { issuerKeysKey, issuerKeysSource } from "@flotilla/auth";
import { type Config, type ConfigKey, type ConfigKeyText, configKeyText, isObject } from "@flotilla/model";

export interface KeySource {
  readonly source: string;
  /** Name of the IssuerKeys object. */
  readonly name: string;
  readonly timeoutMs: number;
}

export interface SourceChange {
  readonly added: readonly KeySource[];
  readonly removed: readonly KeySource[];
}

const usualTimeoutMs = 5_000;
const longestTimeoutMs = 30_000;

/** @param proxiesFetch by URI: only keys that are found by the issuer's configuration are fetched here then */
export class KeySources {
  readonly #proxiesFetch: boolean;
  readonly #byObject = new Map<ConfigKeyText, readonly KeySource[]>();
  readonly #users = new Map<string, number>();

  constructor(proxiesFetch: boolean) {
    this.#proxiesFetch = proxiesFetch;
  }

  /** Notes an object as it is now, undefined when it is gone. */
  note(key: ConfigKey, config: Config | undefined): SourceChange {
    const text = configKeyText(key);
    const before = this.#byObject.get(text) ?? [];
    const after = config === undefined ? [] : this.#sourcesOf(config.spec);
    if (after.length === 0) this.#byObject.delete(text);
    else this.#byObject.set(text, after);
    const added = after.filter(({ name }) => this.#count(name, 1) === 1);
    const removed = before.filter(({ name }) => this.#count(name, -1) === 0);
    return { added: added.filter(({ name }) => this.isNeeded(name)), removed };
  }

  isNeeded(name: string): boolean {
    return this.#users.has(name);
  }

  #count(name: string, change: number): number {
    const users = (this.#users.get(name) ?? 0) + change;
    if (users > 0) this.#users.set(name, users);
    else this.#users.delete(name);
    return users;
  }

  #sourcesOf(spec: unknown): readonly KeySource[] {
    const rules = isObject(spec) ? spec["jwtRules"] : undefined;
    const found = new Map<string, KeySource>();
    for (const rule of Array.isArray(rules) ? rules.filter(isObject) : []) {
      const source = issuerKeysSource(rule);
      if (source === undefined || (this.#proxiesFetch && rule["jwksUri"] !== undefined)) continue;
      const { name } = issuerKeysKey(source);
      found.set(name, { source, name, timeoutMs: timeoutOf(rule["timeout"]) });
    }
    return [...found.values()];
  }
}

/** As protobuf's JSON has durations, `2.5s`. */
function timeoutOf(text: unknown): number {
  const { 1: seconds } = /^(\d+(?:\.\d+)?)s$/.exec(String(text)) ?? [];
  const ms = seconds === undefined ? usualTimeoutMs : Math.ceil(Number(seconds) * 1000);
  return Math.min(ms || usualTimeoutMs, longestTimeoutMs);
}
