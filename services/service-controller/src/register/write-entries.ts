/**
 * Shows registered machines in Kubernetes: a WorkloadEntry for each, its health in the status, also in that of entries that
 * somebody wrote. The registration itself is the fleet's (decision 0064): these objects are only read by people and tools, and
 * is brought into line again and again, so that a missed write or a crash leaves nothing behind.
 */
import { type KubeApi, KubeError, listAll } from "@flotilla/kube-api";
import { type Config, equalJson, type KubeObject, type ObjectName, objectName, objectNameOf } from "@flotilla/model";
import type { RegistrationRecords } from "@flotilla/registry";
import { groupAnnotation } from "@flotilla/registry/convert";
import { delay, type Logger, sharedDelay } from "@flotilla/runtime";
import type { SourceProblem } from "@flotilla/sources";
import {
  allEntries,
  entriesPath,
  entryObject,
  entryPath,
  groupPath,
  healthOf,
  isLeftBehind,
  isOurs,
  isRegistration,
  saysTheSame,
  statusWithHealth,
} from "./entry-objects.ts";

export interface EntryWriterOptions {
  readonly api: KubeApi;
  readonly records: () => RegistrationRecords;
  /** After the start nothing is deleted for so long: machines come back meanwhile. */
  readonly settleMs: number;
  /** Entries that another control plane registered and marked as disconnected for longer are removed. */
  readonly graceMs: number;
  /** Between two comparisons with what is stored when nothing changes. */
  readonly sweepMs: number;
  readonly log: Logger;
  readonly nowMs: () => number;
}

const lookMs = 1_000;
/** After something was refused, or had to wait. */
const againMs = 5_000;
/** At most 20 deletes a second: many machines may go at once, and the API server has others to serve. */
const betweenDeletesMs = 50;
const firstRetryMs = 5;
const retries = 5;

export class EntryWriter {
  readonly name = "registrations";
  readonly #options: EntryWriterOptions;
  #problems: readonly SourceProblem[] = [];

  constructor(options: EntryWriterOptions) {
    this.#options = options;
  }

  problems(): readonly SourceProblem[] {
    return this.#problems;
  }

  async run(stop: AbortSignal): Promise<void> {
    const { records, sweepMs, settleMs, nowMs } = this.#options;
    const startedAtMs = nowMs();
    let written: RegistrationRecords | undefined;
    let [isWhole, writtenAtMs] = [false, 0];
    while (!stop.aborted) {
      const wanted = records();
      const ageMs = nowMs() - writtenAtMs;
      if (!equalJson(wanted, written) || ageMs >= (isWhole ? sweepMs : againMs)) {
        isWhole = await this.#bringIntoLine(wanted, nowMs() - startedAtMs >= settleMs, stop);
        written = wanted;
        writtenAtMs = nowMs();
      }
      await sharedDelay(lookMs, stop);
    }
  }

  /** True when nothing is left to do. */
  async #bringIntoLine(wanted: RegistrationRecords, mayDelete: boolean, stop: AbortSignal): Promise<boolean> {
    const problems: SourceProblem[] = [];
    let waits = false;
    const attempt = async (object: string, work: () => Promise<unknown>) => {
      try {
        await this.#retried(work, stop);
      } catch (error) {
        if (!(error instanceof KubeError)) throw error;
        problems.push({ file: "", line: 0, object, reason: `is not written: ${error.message}` });
      }
    };
    await attempt("WorkloadEntries of machines", async () => {
      const { objects } = await listAll<KubeObject>(this.#options.api, allEntries);
      const stored = new Map(objects.map((object) => [objectNameOf(object), object]));
      for (const entry of wanted.registered) {
        if (stop.aborted) return;
        await attempt(textOf(entry), () => this.#write(entry, stored.get(keyText(entry))));
      }
      for (const entry of wanted.reported) await attempt(textOf(entry), () => this.#writeHealth(entry));
      const kept = new Set(wanted.registered.map(keyText));
      for (const object of objects) {
        if (kept.has(objectNameOf(object)) || stop.aborted) continue;
        const isOver = isOurs(object) || isLeftBehind(object, this.#options.nowMs(), this.#options.graceMs);
        if (!isOver) continue;
        if (!mayDelete) {
          waits = true;
          continue;
        }
        const { namespace = "", name } = object.metadata;
        const path = `${entriesPath(namespace)}/${name}`;
        await attempt(`WorkloadEntry/${objectNameOf(object)}`, () => this.#options.api.delete(path));
        await delay(betweenDeletesMs, stop);
      }
    });
    for (const { object, reason } of problems) {
      if (!this.#problems.some((before) => before.object === object && before.reason === reason))
        this.#options.log.warn("machine not written to Kubernetes", { object, reason });
    }
    this.#problems = problems;
    return problems.length === 0 && !waits;
  }

  async #write(entry: Config, listed: KubeObject | undefined): Promise<void> {
    const { api } = this.#options;
    const { namespace } = entry.key;
    const group = await api.get(groupPath(namespace, entry.annotations[groupAnnotation] ?? ""));
    // It goes with its group.
    if (group === undefined) return;
    const object = entryObject(entry, group);
    if (listed === undefined || !saysTheSame(object, listed)) {
      const stored = await api.get<KubeObject>(entryPath(entry.key));
      if (stored === undefined) await api.create(entriesPath(namespace), object);
      else if (!isRegistration(stored))
        throw new KubeError("KUBE_CONFLICT", "an object of that name exists that was not registered");
      else
        await api.replace(entryPath(entry.key), { ...object, metadata: { ...object.metadata, ...versionOf(stored) } });
    }
    await this.#writeHealth(entry, listed);
  }

  async #writeHealth(entry: Config, listed?: KubeObject): Promise<void> {
    const { api, nowMs } = this.#options;
    const health = healthOf(entry.status);
    if (health === undefined) return;
    if (listed !== undefined && statusWithHealth(listed["status"], health, nowMs()) === undefined) return;
    const stored = await api.get<KubeObject>(entryPath(entry.key));
    const status = stored && statusWithHealth(stored["status"], health, nowMs());
    if (status !== undefined) await api.replace(`${entryPath(entry.key)}/status`, { ...stored, status });
  }

  /** Somebody else may write at the same time. */
  async #retried(work: () => Promise<unknown>, stop: AbortSignal): Promise<void> {
    for (let left = retries, waitMs = firstRetryMs; ; left -= 1, waitMs *= 2) {
      try {
        await work();
        return;
      } catch (error) {
        if (!(error instanceof KubeError) || error.code !== "KUBE_CONFLICT" || left === 0 || stop.aborted) throw error;
        await delay(waitMs, stop);
      }
    }
  }
}

function versionOf({ metadata }: KubeObject): { readonly resourceVersion?: string } {
  return metadata.resourceVersion === undefined ? {} : { resourceVersion: metadata.resourceVersion };
}

function keyText({ key }: Config): ObjectName {
  return objectName.write(key);
}

function textOf(entry: Config): string {
  return `WorkloadEntry/${keyText(entry)}`;
}
