/**
 * An API server in memory for unit tests: kinds with versions, lists and watches that any request may overtake, tokens that end. Slow
 * operations take a random number of turns of the event loop.
 */
import { type KubeApi, type KubeConfig, KubeError } from "@flotilla/kube-api";
import type { KubeObject } from "@flotilla/model";
import { Wakeup } from "@flotilla/runtime";

interface Entry {
  readonly path: string;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: KubeObject;
  readonly version: number;
}

/** Numbers in [0, 1) that are the same for a seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

export class FakeCluster {
  readonly tokens = new Set<string>();
  readonly #random: () => number;
  readonly #slowness: number;
  readonly #log: Entry[] = [];
  readonly #watchers = new Set<Wakeup>();
  /** A path → name → object. */
  readonly #objects = new Map<string, Map<string, KubeObject>>();
  #version = 0;

  /** `slowness`: turns that an answer takes at most. */
  constructor(random: () => number, slowness: number) {
    this.#random = random;
    this.#slowness = slowness;
  }

  put(
    path: string,
    object: object & { readonly metadata: { readonly name: string; readonly namespace?: string } },
  ): void {
    const { name } = object.metadata;
    const all = this.#of(path);
    const type = all.has(name) ? "MODIFIED" : "ADDED";
    const version = ++this.#version;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } } as KubeObject;
    all.set(name, stored);
    this.#report({ path, type, object: stored, version });
  }

  delete(path: string, name: string): void {
    const object = this.#of(path).get(name);
    if (object === undefined) return;
    this.#of(path).delete(name);
    const version = ++this.#version;
    const gone = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
    this.#report({ path, type: "DELETED", object: gone, version });
  }

  /** `token` as `config` has it when a question is asked. */
  open(config: KubeConfig): KubeApi {
    const refused = () => Promise.reject(new KubeError("KUBE_REFUSED", "not to be written by those who follow"));
    return {
      server: config.server,
      get: <T>(path: string, stop?: AbortSignal) => this.#list(config, path, stop) as Promise<T>,
      metadata: () => Promise.resolve(undefined),
      kindsTag: () => Promise.resolve(undefined),
      create: refused,
      replace: refused,
      apply: refused,
      delete: refused,
      lines: (path, stop, onOpen) => this.#watch(config, path, stop, onOpen),
      textLines: () => {
        throw new KubeError("KUBE_REFUSED", "no log is read by those who follow");
      },
      [Symbol.dispose]: () => undefined,
    };
  }

  #of(path: string): Map<string, KubeObject> {
    const known = this.#objects.get(path) ?? new Map<string, KubeObject>();
    this.#objects.set(path, known);
    return known;
  }

  #report(entry: Entry): void {
    this.#log.push(entry);
    for (const watcher of this.#watchers) watcher.wake();
  }

  async #pause(): Promise<void> {
    const turns = Math.floor(this.#random() ** 3 * this.#slowness);
    for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
  }

  async #authorize(config: KubeConfig): Promise<void> {
    const { token = "" } = await config.credentials();
    await this.#pause();
    if (!this.tokens.has(token)) throw new KubeError("KUBE_REFUSED", "Unauthorized", { status: 401 });
  }

  async #list(config: KubeConfig, asked: string, stop?: AbortSignal): Promise<unknown> {
    await this.#authorize(config);
    const items = [...this.#of(asked.split("?")[0] ?? "").values()];
    const answer = { metadata: { resourceVersion: String(this.#version) }, items };
    await this.#pause();
    if (stop?.aborted === true) throw new KubeError("KUBE_AWAY", "the question was given up");
    return answer;
  }

  async *#watch(config: KubeConfig, asked: string, stop: AbortSignal, onOpen?: () => void): AsyncGenerator<unknown> {
    await this.#authorize(config);
    onOpen?.();
    const [path = "", query] = asked.split("?");
    let version = Number(new URLSearchParams(query).get("resourceVersion"));
    const news = new Wakeup();
    this.#watchers.add(news);
    try {
      while (!stop.aborted) {
        const entry = this.#log.find((one) => one.version > version && one.path === path);
        if (entry === undefined) await news.wait(stop);
        else {
          await this.#pause();
          version = entry.version;
          yield { type: entry.type, object: entry.object };
          // Servers end watches whenever they like.
          if (this.#random() < 0.05) return;
        }
      }
    } finally {
      this.#watchers.delete(news);
    }
  }
}
