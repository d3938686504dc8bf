/**
 * Secrets and ConfigMaps on their way to the bus: those that an object refers to, in a state that proxies can use. Of one that is broken
 * the last good version stays in force, and it is reported.
 */
import {
  type Config,
  type ConfigChange,
  type ConfigKey,
  type ConfigKeyText,
  configKeyText,
  parseClusterObjectName,
  parseConfigKey,
} from "@flotilla/model";
import { TimeSlice, Wakeup } from "@flotilla/runtime";
import type { SourceProblem } from "@flotilla/sources";
import type { AggregateStore } from "../aggregate/aggregate-store.ts";
import type { AggregateGroup } from "../aggregate/merge-sources.ts";
import type { ConfigGroup, ConfigSource } from "../watch/config-source.ts";
import { type CheckedCredential, checkCredential, timeText } from "./credential-check.ts";
import { CredentialUses, isCredential, type SecretReferences } from "./credential-uses.ts";

export const credentialsName = "credentials";

export interface CredentialsOptions {
  readonly store: Pick<AggregateStore, "snapshot" | "get" | "has">;
  readonly nowMs: () => number;
  /** The rejected objects changed. */
  readonly onProblems: () => void;
}

/** Clocks are looked at this often at least: timers cannot be set for longer than 24 days. */
const longestWaitMs = 86_400_000;

export class Credentials {
  readonly #options: CredentialsOptions;
  readonly #uses = new CredentialUses();
  /** Good ones, which are published. */
  readonly #good = new Map<ConfigKeyText, CheckedCredential>();
  readonly #refused = new Map<ConfigKeyText, CheckedCredential>();
  readonly #changed = new Wakeup();

  constructor(options: CredentialsOptions) {
    this.#options = options;
  }

  /** For those who read Secrets of other clusters. */
  get references(): SecretReferences {
    return this.#uses;
  }

  /** Changes of the view → those to be published. */
  async *published(groups: AsyncIterable<AggregateGroup>): AsyncGenerator<AggregateGroup, void, undefined> {
    let isLoaded = false;
    for await (const group of groups) {
      if (group.snapshot) {
        if (!isLoaded) await this.#load();
        isLoaded = true;
        yield group;
        continue;
      }
      const timeSlice = new TimeSlice();
      const changes = this.#apply(group.changes);
      group.changes.length = 0;
      if (timeSlice.isDue) await timeSlice.yield();
      if (changes.length > 0) yield { ...group, changes };
    }
  }

  /** Of objects in the view. */
  readonly isPublished = (key: ConfigKey): boolean => !isCredential(key) || this.#good.has(configKeyText(key));

  /** Stands among the sources with what it refuses; it has no objects of its own. */
  asSource(): ConfigSource {
    return {
      name: credentialsName,
      problems: () => this.#problems(),
      groups: (stop) => this.#reportExpired(stop),
      [Symbol.asyncDispose]: async () => undefined,
    };
  }

  async #load(): Promise<void> {
    const timeSlice = new TimeSlice();
    const credentials: Config[] = [];
    for (const config of this.#options.store.snapshot()) {
      this.#uses.note(config.key, config);
      if (isCredential(config.key)) credentials.push(config);
      if (timeSlice.isDue) await timeSlice.yield();
    }
    this.#uses.markLoaded();
    for (const config of credentials) {
      if (this.#uses.isUsed(config.key)) this.#check(config);
      if (timeSlice.isDue) await timeSlice.yield();
    }
    this.#noteProblems();
  }

  #apply(changes: readonly ConfigChange[]): ConfigChange[] {
    const concerned = new Map<ConfigKeyText, ConfigKey>();
    const replaced = new Set<ConfigKeyText>();
    for (const change of changes) {
      const config = change.op === "put" ? change.value : undefined;
      if (isCredential(change.key)) replaced.add(configKeyText(change.key));
      for (const key of this.#uses.note(change.key, config)) concerned.set(configKeyText(key), key);
    }
    const others = changes.filter(({ key }) => !isCredential(key));
    const own = [...concerned].flatMap(([text, key]) => this.#changeOf(text, key, replaced.has(text)));
    if (own.length > 0 || concerned.size > 0) this.#noteProblems();
    return [...own, ...others];
  }

  #changeOf(text: ConfigKeyText, key: ConfigKey, isReplaced: boolean): readonly ConfigChange[] {
    const { store } = this.#options;
    const config = store.has(key) && this.#uses.isUsed(key) ? store.get(key) : undefined;
    const wasKnown = this.#good.has(text) || this.#refused.has(text);
    if (config === undefined) {
      this.#good.delete(text);
      this.#refused.delete(text);
      return wasKnown ? [{ type: "config", op: "delete", key }] : [];
    }
    if (wasKnown && !isReplaced) return [];
    return this.#check(config) ? [{ type: "config", op: "put", key, value: config }] : [];
  }

  /** @returns whether it can be used */
  #check(config: Config): boolean {
    const text = configKeyText(config.key);
    const checked = checkCredential(config, this.#options.nowMs());
    const isGood = checked.problem === undefined;
    this.#good.delete(text);
    this.#refused.delete(text);
    (isGood ? this.#good : this.#refused).set(text, checked);
    return isGood;
  }

  #problems(): readonly SourceProblem[] {
    const nowMs = this.#options.nowMs();
    const refused = [...this.#refused].map(([object, { problem }]) => ({
      ...{ file: "", line: 0, object },
      ...(problem && { field: problem.field }),
      reason: `${problem?.reason ?? ""}${clusterText(object)}`,
    }));
    const expired = [...this.#good].flatMap(([object, { expiresMs = Number.POSITIVE_INFINITY }]) => {
      if (expiresMs > nowMs) return [];
      const reason = `its certificate expired on ${timeText(expiresMs)}, and no other came${clusterText(object)}`;
      return [{ file: "", line: 0, object, reason }];
    });
    return [...refused, ...expired];
  }

  #noteProblems(): void {
    this.#options.onProblems();
    this.#changed.wake();
  }

  /** Time alone makes a certificate bad. */
  async *#reportExpired(stop: AbortSignal): AsyncGenerator<ConfigGroup, void, undefined> {
    const { nowMs, onProblems } = this.#options;
    yield { changes: [], eventTimeMs: nowMs() };
    for (let lookedMs = nowMs(); !stop.aborted; ) {
      const now = nowMs();
      const ends = [...this.#good.values()].map(({ expiresMs = Number.POSITIVE_INFINITY }) => expiresMs);
      if (ends.some((end) => end > lookedMs && end <= now)) onProblems();
      lookedMs = now;
      const next = ends.filter((end) => end > now).reduce((a, b) => Math.min(a, b), now + longestWaitMs);
      await this.#changed.wait(stop, next - now);
    }
  }
}

function clusterText(object: ConfigKeyText): string {
  const { cluster } = parseClusterObjectName(parseConfigKey(object).name) ?? {};
  return cluster === undefined ? "" : `, in cluster ${cluster}`;
}
