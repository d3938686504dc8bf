/**
 * What analysis finds of the published objects, for their status: by those analyzers that look at nothing else, for the Services and pods
 * of a mesh are not published as objects. Changes are checked a few objects at a time, so that the process goes on answering.
 */
import {
  configurationAnalyzers,
  isSuppressedByObject,
  MeshAnalysis,
  type MeshObject,
  meshObject,
  meshSettings,
  type ObjectChange,
} from "@flotilla/analysis";
import { type Config, configKeyText, type JsonObject, parseConfigKey } from "@flotilla/model";
import { TimeSlice, Wakeup } from "@flotilla/runtime";
import type { PublishedConfig } from "../follow/published-config.ts";
import { manifestOf } from "../store/manifest-of.ts";
import type { Finding } from "./object-status.ts";

const checkedAtOnce = 20;

export class AnalysisFindings {
  readonly #published: Pick<PublishedConfig, "all" | "listen">;
  readonly #wakeup = new Wakeup();
  readonly #objects = new Map<string, MeshObject>();
  #analysis = createAnalysis();

  constructor(published: Pick<PublishedConfig, "all" | "listen">) {
    this.#published = published;
    published.listen({
      onBaseline: () => this.#begin(),
      onGeneration: ({ changes }) =>
        this.#note(
          changes.flatMap(({ key, after }): ObjectChange[] =>
            after === undefined ? [{ removed: key }] : changeOf(after),
          ),
        ),
    });
  }

  /** Of `Kind/namespace/name`, errors and warnings that the object does not suppress. */
  of(object: string): readonly Finding[] {
    const about = this.#objects.get(object);
    if (about === undefined) return [];
    return this.#analysis
      .findingsOf(parseConfigKey(object))
      .filter(({ level, code }) => level !== "Info" && !isSuppressedByObject(code, about))
      .map(({ field, message, code }) => ({ field, reason: `${message} [${code}]` }));
  }

  /** Runs until `stop` fires. `onChanged` is called with objects whose findings may be different. */
  async run(onChanged: (objects: ReadonlySet<string>) => void, stop: AbortSignal): Promise<void> {
    const timeSlice = new TimeSlice();
    while (!stop.aborted) {
      if (this.#analysis.isSettled) await this.#wakeup.wait(stop);
      const changed = this.#analysis.settle(checkedAtOnce);
      if (changed.size > 0) onChanged(changed);
      if (timeSlice.isDue) await timeSlice.yield();
    }
  }

  #begin(): void {
    this.#analysis = createAnalysis();
    this.#objects.clear();
    this.#note([...this.#published.all()].flatMap(({ config }) => changeOf(config)));
  }

  #note(changes: readonly ObjectChange[]): void {
    for (const change of changes) {
      if ("object" in change) this.#objects.set(configKeyText(change.object.key), change.object);
      else this.#objects.delete(configKeyText(change.removed));
    }
    this.#analysis.note(changes);
    this.#wakeup.wake();
  }
}

function createAnalysis(): MeshAnalysis {
  // No analyzer among them reads a certificate.
  const validityOf = () => ({ notBeforeMs: 0, notAfterMs: 0 });
  return new MeshAnalysis(configurationAnalyzers(), { nowMs: Date.now, validityOf });
}

/** Secrets are not looked at. */
function changeOf(config: Config): ObjectChange[] {
  const { kind, namespace } = config.key;
  if (kind === "MeshConfig" || kind === "MeshNetworks")
    return [{ object: { ...meshSettings({ kind, document: config.spec as JsonObject }, namespace), key: config.key } }];
  const object = kind === "Secret" ? undefined : meshObject(manifestOf(config));
  return object === undefined ? [] : [{ object }];
}
