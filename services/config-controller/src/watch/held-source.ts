/**
 * A directory that has lost all of its objects at once is more often a mistake (a mount of the wrong path, a failed checkout) than
 * intended: its objects stay in force until objects come back or the empty directory is confirmed by a file in it.
 *
 * While it runs, the deletes are held back here. After a restart only the bus has the objects: the problem that is reported then names the
 * directory, and LastGood keeps them.
 */
import { existsSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { type Config, type ConfigChange, type ConfigKeyText, configKeyText } from "@flotilla/model";
import type { Logger } from "@flotilla/runtime";
import type { ForeignKind, SourceProblem } from "@flotilla/sources";
import type { ConfigGroup, ConfigSource, SourceCondition } from "./config-source.ts";

/** Confirms, in the directory, that it is meant to hold no objects. */
export const emptyMarker = ".flotilla-empty";

export interface HeldSourceOptions {
  /** Of the directory, or of a single file. */
  readonly path: string;
  /** Objects published from files below the path; read once, for the first group. */
  readonly published: (isWanted: (config: Config) => boolean) => readonly Config[];
  readonly log: Logger;
  readonly onProblems: () => void;
  /** Number of objects that are held, after each change of it. */
  readonly onHeld: (objects: number) => void;
  /** Between two looks for the confirmation. */
  readonly lookMs?: number;
}

export class HeldSource implements ConfigSource {
  readonly name: string;
  readonly #inner: ConfigSource;
  readonly #options: HeldSourceOptions;
  readonly #marker: string;
  readonly #inForce = new Set<ConfigKeyText>();
  /** Deletes that wait for confirmation; empty after a restart, when LastGood has the objects. */
  #heldBack: readonly ConfigChange[] = [];
  #heldObjects = 0;

  constructor(inner: ConfigSource, options: HeldSourceOptions) {
    this.name = inner.name;
    this.#inner = inner;
    this.#options = options;
    const isFile = /^\.(ya?ml|json)$/i.test(extname(options.path));
    this.#marker = join(isFile ? dirname(options.path) : options.path, emptyMarker);
  }

  async *groups(stop: AbortSignal): AsyncGenerator<ConfigGroup, void, undefined> {
    const groups = this.#inner.groups(stop)[Symbol.asyncIterator]();
    let next = groups.next();
    for (let isFirst = true; ; ) {
      const arrived = await this.#orConfirmed(next, stop);
      if (arrived === "confirmed") {
        yield this.#release(Date.now());
        continue;
      }
      if (arrived.done === true) return;
      const group = this.#take(arrived.value, isFirst);
      isFirst = false;
      if (group !== undefined) yield group;
      next = groups.next();
    }
  }

  problems(): readonly SourceProblem[] {
    if (this.#heldObjects === 0) return this.#inner.problems();
    // The slash: it stands for everything below it.
    const held = { file: `${this.#options.path.replace(/\/$/, "")}/`, line: 0, reason: this.#reason() };
    return [held, ...this.#inner.problems()];
  }

  ignored(): ReadonlyMap<ForeignKind, number> {
    return this.#inner.ignored?.() ?? new Map();
  }

  condition(): SourceCondition | undefined {
    return this.#heldObjects === 0 ? this.#inner.condition?.() : { detail: this.#reason(), blocks: false };
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#inner[Symbol.asyncDispose]();
  }

  #reason(): string {
    return `has become empty: its ${this.#heldObjects} objects stay in force until it has objects again or the file ${this.#marker} exists`;
  }

  /** Undefined while the group is held back. */
  #take({ changes, ...group }: ConfigGroup, isFirst: boolean): ConfigGroup | undefined {
    if (isFirst && changes.length === 0) {
      this.#hold(this.#publishedObjects());
      return { changes, ...group };
    }
    const before = this.#inForce.size;
    for (const change of changes) {
      if (change.op === "put") this.#inForce.add(configKeyText(change.key));
      else this.#inForce.delete(configKeyText(change.key));
    }
    if (this.#inForce.size > 0) {
      const returned = this.#heldBack.filter(({ key }) => !this.#inForce.has(configKeyText(key)));
      this.#heldBack = [];
      this.#hold(0);
      return { changes: [...returned, ...changes], ...group };
    }
    if (before === 0 || existsSync(this.#marker)) return { changes, ...group };
    this.#heldBack = changes;
    this.#hold(before);
    return undefined;
  }

  #publishedObjects(): number {
    const { path, published } = this.#options;
    if (existsSync(this.#marker)) return 0;
    return published(({ provenance }) => isBelow(path, provenance)).length;
  }

  #release(eventTimeMs: number): ConfigGroup {
    const changes = [...this.#heldBack];
    this.#heldBack = [];
    this.#hold(0);
    return { changes, eventTimeMs };
  }

  #hold(objects: number): void {
    if (objects === this.#heldObjects) return;
    const { path, log, onHeld, onProblems } = this.#options;
    const before = this.#heldObjects;
    this.#heldObjects = objects;
    if (objects > 0) log.warn("empty directory ignored", { directory: path, objects, confirmBy: this.#marker });
    else log.info("directory restored", { directory: path, objectsHeldBefore: before });
    onHeld(objects);
    onProblems();
  }

  /** The next group, or the word that the empty directory has been confirmed meanwhile. */
  async #orConfirmed<T>(next: Promise<T>, stop: AbortSignal): Promise<T | "confirmed"> {
    if (this.#heldObjects === 0) return next;
    const arrived = new AbortController();
    const until = AbortSignal.any([stop, arrived.signal]);
    try {
      return await Promise.race([next, this.#confirmed(until)]);
    } finally {
      arrived.abort();
    }
  }

  /** Never resolves when `until` fires first. */
  #confirmed(until: AbortSignal): Promise<"confirmed"> {
    const { lookMs = 1_000 } = this.#options;
    const { promise, resolve } = Promise.withResolvers<"confirmed">();
    const look = (): void => {
      if (existsSync(this.#marker)) resolve("confirmed");
    };
    const timer = setInterval(look, lookMs);
    until.addEventListener("abort", () => clearInterval(timer), { once: true });
    look();
    return promise;
  }
}

function isBelow(path: string, provenance: Config["provenance"]): boolean {
  const { source, location = "" } = provenance ?? {};
  return source === "file" && (location.startsWith(`${path.replace(/\/$/, "")}/`) || location.startsWith(`${path}:`));
}
