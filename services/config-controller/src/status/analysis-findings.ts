/**
 * Findings of the analysis of published objects, for their status: by those analyzers that look at configuration, and at Services once they
 * are published. Pods and Secrets are not looked at. Changes are checked a few objects at a time, so that the process goes on answering.
 */
import {
  configurationAnalyzers,
  isSuppressedByObject,
  MeshAnalysis,
  type MeshObject,
  meshObject,
  meshSettings,
  type ObjectChange,
  PublishedServices,
} from "@flotilla/analysis";
import { type Bus, filters, subscribe } from "@flotilla/bus";
import { type Config, configKeyText, type JsonObject, parseConfigKey, type ServiceChange } from "@flotilla/model";
import { type Logger, TimeSlice, Wakeup } from "@flotilla/runtime";
import type { PublishedConfig } from "../follow/published-config.ts";
import { manifestOf } from "../store/manifest-of.ts";
import type { Finding } from "./object-status.ts";

export interface AnalysisFindingsOptions {
  readonly published: Pick<PublishedConfig, "all" | "listen">;
  /** With more Services none are kept, and hosts and ports are not looked up. */
  readonly maxServices: number;
  readonly log: Logger;
}

const checkedAtOnce = 20;

export class AnalysisFindings {
  readonly #options: AnalysisFindingsOptions;
  readonly #wakeup = new Wakeup();
  readonly #objects = new Map<string, MeshObject>();
  readonly #services = new PublishedServices();
  /** True where all published Services have been noted: a host that is not among them does not exist. */
  #knowsServices = false;
  #isTooLarge = false;
  /** True where the analysis looks up hosts and ports. */
  #looksUpServices = false;
  #analysis = createAnalysis(false);

  constructor(options: AnalysisFindingsOptions) {
    this.#options = options;
    options.published.listen({
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

  /** Runs until `stop` fires. */
  async followServices(bus: Bus, stop: AbortSignal): Promise<void> {
    this.#forgetServices();
    const options = { bus, filter: filters.services, afterSequence: 0, seal: undefined };
    for await (const item of subscribe({ ...options, publishers: ["service-controller"] }, stop)) {
      if (item.kind === "reset") this.#forgetServices();
      else if (item.kind === "caught-up") this.beginServices();
      else if (item.kind === "group")
        for (const change of item.group.changes) if (change.type === "service") this.noteService(change);
    }
  }

  /** All Services that are published have been noted. */
  beginServices(): void {
    this.#knowsServices = true;
    this.#chooseAnalyzers();
  }

  noteService(change: ServiceChange): void {
    if (this.#isTooLarge || this.#options.maxServices === 0) return;
    const changes = this.#services.note(change);
    if (this.#services.size > this.#options.maxServices) {
      this.#isTooLarge = true;
      this.#services.clear();
      this.#options.log.warn("too many services in the mesh to check hosts for the status of objects", {
        most: this.#options.maxServices,
      });
    }
    if (this.#chooseAnalyzers() || !this.#looksUpServices) return;
    this.#analysis.note(changes);
    this.#wakeup.wake();
  }

  #forgetServices(): void {
    this.#knowsServices = false;
    this.#isTooLarge = false;
    this.#services.clear();
    this.#chooseAnalyzers();
  }

  /** Without any Service a mesh has none or no publisher of them: hosts are not looked up then. Returns whether it began anew. */
  #chooseAnalyzers(): boolean {
    if (this.#looksUpServices === (this.#knowsServices && this.#services.size > 0)) return false;
    this.#looksUpServices = !this.#looksUpServices;
    this.#renew();
    return true;
  }

  #begin(): void {
    this.#objects.clear();
    this.#record([...this.#options.published.all()].flatMap(({ config }) => changeOf(config)));
    this.#renew();
  }

  /** All objects are checked again. */
  #renew(): void {
    this.#analysis = createAnalysis(this.#looksUpServices);
    const services = this.#looksUpServices ? this.#services.objects() : [];
    this.#analysis.note([...this.#objects.values(), ...services].map((object) => ({ object })));
    this.#wakeup.wake();
  }

  #note(changes: readonly ObjectChange[]): void {
    this.#record(changes);
    this.#analysis.note(changes);
    this.#wakeup.wake();
  }

  #record(changes: readonly ObjectChange[]): void {
    for (const change of changes) {
      if ("object" in change) this.#objects.set(configKeyText(change.object.key), change.object);
      else this.#objects.delete(configKeyText(change.removed));
    }
  }
}

function createAnalysis(looksUpServices: boolean): MeshAnalysis {
  // No analyzer among them reads a certificate.
  const validityOf = () => ({ notBeforeMs: 0, notAfterMs: 0 });
  const analyzers = looksUpServices ? configurationAnalyzers("Service") : configurationAnalyzers();
  return new MeshAnalysis(analyzers, { nowMs: Date.now, validityOf });
}

/** Secrets are not looked at. */
function changeOf(config: Config): ObjectChange[] {
  const { kind, namespace } = config.key;
  if (kind === "MeshConfig" || kind === "MeshNetworks")
    return [{ object: { ...meshSettings({ kind, document: config.spec as JsonObject }, namespace), key: config.key } }];
  const object = kind === "Secret" ? undefined : meshObject(manifestOf(config));
  return object === undefined ? [] : [{ object }];
}
