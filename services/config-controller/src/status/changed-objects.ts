/** Objects whose status may be different since it was looked at: those that changed, and those that somebody refuses or doubts. */
import { configKeyText } from "@flotilla/model";
import type { SourceProblem } from "@flotilla/sources";
import type { PublishedConfig } from "../follow/published-config.ts";
import type { Distributions } from "./distributions.ts";
import { hasStatus, statusKey } from "./object-status.ts";

export interface ChangedSources {
  readonly published: Pick<PublishedConfig, "listen">;
  readonly distributions: Pick<Distributions, "listen" | "findings" | "refusals">;
  readonly refused: () => readonly SourceProblem[];
}

export class ChangedObjects {
  readonly #sources: ChangedSources;
  readonly #listeners = new Set<() => void>();
  #changed = new Set<string>();
  /** By object, the objections reported last. */
  #objections: ReadonlyMap<string, string> = new Map();

  constructor(sources: ChangedSources) {
    this.#sources = sources;
    sources.published.listen({
      onBaseline: () => undefined,
      onGeneration: ({ changes }) => {
        for (const { key } of changes) if (hasStatus(key)) this.#changed.add(configKeyText(key));
        this.#notify();
      },
    });
    sources.distributions.listen(() => this.compare());
  }

  /** Facts about these objects may have changed. */
  note(objects: ReadonlySet<string>): void {
    for (const object of objects) if (statusKey(object) !== undefined) this.#changed.add(object);
    if (this.#changed.size > 0) this.#notify();
  }

  /** Objections to objects may have changed. */
  compare(): void {
    const now = this.#read();
    for (const [object, text] of now) if (this.#objections.get(object) !== text) this.#changed.add(object);
    for (const object of this.#objections.keys()) if (!now.has(object)) this.#changed.add(object);
    this.#objections = now;
    if (this.#changed.size > 0) this.#notify();
  }

  /** Returns the changed objects collected so far, and starts a new collection. */
  take(): ReadonlySet<string> {
    const taken = this.#changed;
    this.#changed = new Set();
    return taken;
  }

  /** Gives a function that ends it. */
  onChanged(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #read(): ReadonlyMap<string, string> {
    const { distributions, refused } = this.#sources;
    const texts = new Map<string, string>();
    const add = (object: string, text: string) => {
      if (statusKey(object) !== undefined) texts.set(object, `${texts.get(object) ?? ""}\n${text}`);
    };
    for (const { object = "", field = "", reason } of refused()) add(object, `${field} ${reason}`);
    for (const [object, messages] of distributions.findings()) add(object, messages.join("\n"));
    for (const { proxy, objects, message } of distributions.refusals())
      for (const object of objects) add(object, `${proxy} ${message}`);
    return texts;
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}
