/**
 * Objects that were in force when config-controller started and are rejected now: their last good version stays in force. A running source
 * remembers it by itself; after a restart only the bus has it. Of all sources this one has the lowest precedence.
 */
import { kindNamed, kinds } from "@flotilla/kinds";
import { type Config, type ConfigChange, type ConfigKey, type ConfigKeyText, configKeyText } from "@flotilla/model";
import { Wakeup } from "@flotilla/runtime";
import type { ConfigGroup, ConfigSource } from "./config-source.ts";

export const lastGoodName = "last good version";

export interface LastGoodOptions {
  /** Whose refusals count. */
  readonly sources: readonly Pick<ConfigSource, "problems">[];
  readonly view: {
    get(key: ConfigKey): Config | undefined;
    /** The first source before that one which has the object. */
    hiddenBy(source: string, key: ConfigKey): string | undefined;
  };
  readonly published: {
    get(key: ConfigKey): { readonly config: Config } | undefined;
    /** Asked only while files are refused as a whole: it takes as long as there are objects. */
    all(isWanted: (key: ConfigKey) => boolean): Iterable<{ readonly config: Config }>;
  };
  readonly nowMs: () => number;
  /** An object that is refused no more is yielded by its source within this time, or it is gone. */
  readonly graceMs?: number;
}

export class LastGood implements ConfigSource {
  readonly name = lastGoodName;
  readonly #options: LastGoodOptions;
  readonly #wakeup = new Wakeup();
  /** Since when it is refused no more; undefined while it is. */
  readonly #adopted = new Map<ConfigKeyText, { readonly key: ConfigKey; freeSinceMs: number | undefined }>();

  constructor(options: LastGoodOptions) {
    this.#options = options;
  }

  /** To be called after refusals or the view have changed. */
  note(): void {
    this.#wakeup.wake();
  }

  problems(): readonly [] {
    return [];
  }

  async *groups(stop: AbortSignal): AsyncGenerator<ConfigGroup, void, undefined> {
    const { nowMs, graceMs = 1_000 } = this.#options;
    yield { changes: [], eventTimeMs: nowMs() };
    while (!stop.aborted) {
      const isWaiting = [...this.#adopted.values()].some(({ freeSinceMs }) => freeSinceMs !== undefined);
      await this.#wakeup.wait(stop, isWaiting ? graceMs : undefined);
      const refused = this.#refused();
      const changes = [...this.#release(refused, graceMs), ...this.#adopt(refused)];
      if (changes.length > 0) yield { changes, eventTimeMs: nowMs() };
    }
  }

  /** Objects that are about to be adopted are not to be withdrawn first. */
  isIncomplete(key: ConfigKey): boolean {
    const refused = this.#refused();
    if (refused.objects.has(objectText(key))) return true;
    if (refused.files.size === 0) return false;
    const known = this.#options.published.get(key);
    return known !== undefined && isOfFile(known.config, refused.files);
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #adopt({ objects, files }: Refused): readonly ConfigChange[] {
    const { view, published } = this.#options;
    const isMissing = (key: ConfigKey) =>
      !this.#adopted.has(configKeyText(key)) && view.hiddenBy(lastGoodName, key) === undefined;
    const named = [...objects].flatMap(keysNamed).filter(isMissing);
    const found = named.flatMap((key) => published.get(key)?.config ?? []);
    if (files.size > 0)
      for (const { config } of published.all(isMissing)) if (isOfFile(config, files)) found.push(config);
    const adopted = new Map(found.map((config) => [configKeyText(config.key), config]));
    for (const [text, { key }] of adopted) this.#adopted.set(text, { key, freeSinceMs: undefined });
    return [...adopted.values()].map((value) => ({ type: "config", op: "put", key: value.key, value }));
  }

  #release({ objects, files }: Refused, graceMs: number): readonly ConfigChange[] {
    const { view, nowMs } = this.#options;
    return [...this.#adopted].flatMap(([text, adopted]): readonly ConfigChange[] => {
      const { key } = adopted;
      const config = view.get(key);
      const isRefused = objects.has(objectText(key)) || (config !== undefined && isOfFile(config, files));
      adopted.freeSinceMs = isRefused ? undefined : (adopted.freeSinceMs ?? nowMs());
      const isGone = adopted.freeSinceMs !== undefined && nowMs() - adopted.freeSinceMs >= graceMs;
      if (!isGone && view.hiddenBy(lastGoodName, key) === undefined) return [];
      this.#adopted.delete(text);
      return [{ type: "config", op: "delete", key }];
    });
  }

  #refused(): Refused {
    const problems = this.#options.sources.flatMap((source) => source.problems());
    return {
      objects: new Set(problems.flatMap(({ object }) => object ?? [])),
      files: new Set(problems.flatMap(({ object, file }) => (object === undefined && file !== "" ? [file] : []))),
    };
  }
}

interface Refused {
  readonly objects: ReadonlySet<string>;
  /** Those of which it is unknown which object is meant. */
  readonly files: ReadonlySet<string>;
}

/** As problems name an object. */
function objectText({ kind, namespace, name }: ConfigKey): string {
  return `${kindNamed(kind)?.kind ?? kind}/${namespace}/${name}`;
}

/** The keys that `objectText` gives this for: two kinds may have one name in their APIs. None for what is no object. */
function keysNamed(object: string): readonly ConfigKey[] {
  const [kindText = "", namespace, name, ...more] = object.split("/");
  if (namespace === undefined || name === undefined || more.length > 0) return [];
  const rows = kinds.filter(({ kind }) => kind === kindText).map((row) => row.name);
  return (rows.length === 0 ? [kindText] : rows).map((kind) => ({ kind, namespace, name }));
}

/** Files are named with the line in them. */
function isOfFile({ provenance }: Config, files: ReadonlySet<string>): boolean {
  const { source, location } = provenance ?? {};
  if (source !== "file" || location === undefined) return false;
  if (files.has(location.replace(/:\d+$/, ""))) return true;
  // A directory that has become empty is named with a slash, for all the files that it had.
  return [...files].some((file) => file.endsWith("/") && location.startsWith(file));
}
