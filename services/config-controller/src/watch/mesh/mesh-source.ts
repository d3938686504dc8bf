/** MeshConfig or MeshNetworks, put together from its layers; followed while running. */
import type { Config, ConfigKey, JsonObject } from "@flotilla/model";
import { configKeyText } from "@flotilla/model";
import { BoundedQueue, delay } from "@flotilla/runtime";
import type { SourceProblem } from "@flotilla/sources";
import type { ConfigGroup, ConfigSource } from "../config-source.ts";
import type { DocumentLayer, LayerVersion } from "./document-layers.ts";

export interface MeshSourceOptions {
  readonly name: string;
  readonly key: ConfigKey;
  /** The weakest first; none: the defaults hold for good. */
  readonly layers: readonly DocumentLayer[];
  /** The documents of the layers, the weakest first, over the defaults. */
  readonly toConfig: (...documents: JsonObject[]) => Config;
  /** Problems of the configuration in force: valid settings that cannot be followed. */
  readonly remarks?: (config: Config) => readonly SourceProblem[];
  readonly onProblems: () => void;
  /** How long layers that are wrong or away are waited for; the mesh goes on without its document then. */
  readonly patienceMs?: number;
}

export function meshSource(options: MeshSourceOptions): ConfigSource {
  return new MeshSource(options);
}

class MeshSource implements ConfigSource {
  readonly name: string;
  readonly #options: MeshSourceOptions;
  #isIncomplete = false;
  #remarks: readonly SourceProblem[] = [];

  constructor(options: MeshSourceOptions) {
    this.name = options.name;
    this.#options = options;
  }

  async *groups(stop: AbortSignal): AsyncGenerator<ConfigGroup, void, undefined> {
    const { layers, patienceMs = 6_000 } = this.#options;
    if (layers.length === 0) return yield this.#group([], Date.now());
    const ended = new AbortController();
    const running = AbortSignal.any([stop, ended.signal]);
    const queue = new BoundedQueue<{ readonly index: number; readonly version: LayerVersion } | "patience">(
      layers.length,
    );
    if (stop.aborted) queue.close();
    stop.addEventListener("abort", () => queue.close(), { once: true, signal: ended.signal });
    const pumps = layers.map((layer, index) => pump(layer, index, queue, running));
    const patience = delay(patienceMs, running)
      .then(() => queue.put("patience", running))
      .catch(ignoreEnd(running));
    const documents = new Map<number, JsonObject>();
    let isOver = false;
    let hasBegun = false;
    try {
      for await (const item of queue) {
        if (item === "patience") isOver = true;
        else documents.set(item.index, item.version.document);
        const missing = layers.filter((_, index) => !documents.has(index));
        // Without a missing layer the published document stays in force: one group reports that, and the next one follows when the layer is
        // received.
        if (missing.length > 0 && (!isOver || hasBegun)) continue;
        if (item === "patience" && hasBegun) continue;
        const eventTimeMs = item === "patience" ? Date.now() : item.version.eventTimeMs;
        const isLate = this.#isIncomplete;
        this.#isIncomplete = missing.length > 0;
        hasBegun = true;
        const ordered = [...documents].sort(([a], [b]) => a - b).map(([, document]) => document);
        if (this.#isIncomplete) yield { changes: [], eventTimeMs };
        else yield { ...this.#group(ordered, eventTimeMs), ...(isLate && { isComplete: true }) };
      }
    } finally {
      ended.abort();
      queue.close();
      await Promise.all([...pumps, patience]);
    }
  }

  problems(): readonly SourceProblem[] {
    return [...this.#options.layers.flatMap((layer) => layer.problems()), ...this.#remarks];
  }

  /** The stream's document stays until every layer has been read: half of a MeshConfig is another mesh. */
  isIncomplete(key: ConfigKey): boolean {
    return this.#isIncomplete && configKeyText(key) === configKeyText(this.#options.key);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const layer of this.#options.layers) await layer[Symbol.asyncDispose]();
  }

  #group(documents: readonly JsonObject[], eventTimeMs: number): ConfigGroup {
    const { toConfig, remarks, onProblems } = this.#options;
    const value = toConfig(...documents);
    this.#remarks = remarks?.(value) ?? [];
    onProblems();
    return { changes: [{ type: "config", op: "put", key: value.key, value }], eventTimeMs };
  }
}

async function pump(
  layer: DocumentLayer,
  index: number,
  queue: BoundedQueue<{ readonly index: number; readonly version: LayerVersion } | "patience">,
  stop: AbortSignal,
): Promise<void> {
  try {
    for await (const version of layer.versions(stop)) await queue.put({ index, version }, stop);
  } catch (cause) {
    // The reader of the queue gets it; after the end it has no effect any more.
    if (!stop.aborted) queue.close(cause);
  }
}

function ignoreEnd(stop: AbortSignal): (cause: unknown) => void {
  return (cause) => {
    if (!stop.aborted) throw cause;
  };
}
