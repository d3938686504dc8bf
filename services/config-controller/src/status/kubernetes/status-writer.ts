/**
 * Writes the status of objects into Kubernetes, by server-side apply on the status subresource: what is different from what
 * stands there, at a limited rate. Nothing is written while nothing changes, nor because proxies come and go.
 */
import { isIstioKind, type Kind } from "@flotilla/kinds";
import { type KubeApi, KubeError, listPages } from "@flotilla/kube-api";
import { parseConfigKey } from "@flotilla/model";
import { delay, type Logger, TimeSlice, Wakeup } from "@flotilla/runtime";
import { type ServedKind, servedKinds, wantedKinds } from "../../watch/kubernetes/served-kinds.ts";
import type { ObjectStatus } from "../object-status.ts";
import { type Condition, conditionsOf, ownConditions, verdictOf } from "./conditions.ts";
import { type Due, DueObjects } from "./due-objects.ts";

export interface StatusWriterOptions {
  readonly api: KubeApi;
  /** Namespaces that are read; empty: all. */
  readonly namespaces: readonly string[];
  readonly statusOf: (object: string) => ObjectStatus | undefined | Promise<ObjectStatus | undefined>;
  /** A replica of xds-server reports how far changes have come. */
  readonly hasReports: () => boolean;
  /** Objects whose status may be different since it was asked last. */
  readonly takeChanged: () => ReadonlySet<string>;
  /** Calls when there is something to take; gives a function that ends that. */
  readonly onChanged: (listener: () => void) => () => void;
  readonly writesPerSecond: number;
  readonly onWritten: () => void;
  readonly log: Logger;
  readonly nowMs: () => number;
  /** After the API server failed. */
  readonly retryMs?: number;
}

interface StoredObject {
  readonly metadata: { readonly name?: string; readonly namespace?: string; readonly generation?: number };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

interface Place {
  /** `/apis/networking.istio.io/v1` */
  readonly root: string;
  readonly kind: Kind;
}

/** One write is enough for a change in most cases: distribution takes less than this. */
const settleMs = 1_000;
const lookAgainMs = settleMs / 4;
/** Looking at one takes a tenth of a millisecond: this many at a time, and no more than so many a second. */
const looksAtOnce = 50;
const looksPerSecond = 200;
const usualRetryMs = 2_000;
/** After a kind was looked for in vain. */
const kindsAgainMs = 10_000;
/** A writer that has just begun has no report of xds-server yet. */
const silenceMs = 10_000;
const fieldManager = "flotilla-status";
/** Their conditions are those of who registers the workload. */
const excluded: ReadonlySet<string> = new Set(["WorkloadEntry"]);

export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #wakeup = new Wakeup();
  readonly #due = new DueObjects({ againMs: lookAgainMs, silenceMs });
  /** By object, the verdict that was found or written last, and the generation that the object had then. */
  readonly #written = new Map<string, { readonly verdict: string; readonly generation: number }>();
  #hadReports = false;
  /** By the mesh's name of the kind, where its objects are. */
  #places: ReadonlyMap<string, Place> = new Map();
  #placesAtMs = 0;

  constructor(options: StatusWriterOptions) {
    this.#options = options;
  }

  /** Runs until `stop` fires: while this process has the duty. */
  async run(stop: AbortSignal): Promise<void> {
    const { onChanged, log, writesPerSecond, retryMs = usualRetryMs } = this.#options;
    const end = onChanged(() => this.#wakeup.wake());
    try {
      while (!stop.aborted) {
        try {
          await this.#compareAll(stop);
          break;
        } catch (error) {
          if (!(error instanceof KubeError) || stop.aborted) throw error;
          log.warn("the status of objects cannot be read, trying again", { error });
          await delay(retryMs, stop);
        }
      }
      while (!stop.aborted) {
        await this.#wakeup.wait(stop, this.#waitMs);
        this.#takeChanged();
        const looks = await this.#writeDue(stop);
        if (looks === looksAtOnce) await delay((1_000 * looks) / Math.max(looksPerSecond, writesPerSecond), stop);
      }
    } finally {
      end();
    }
  }

  /** At the beginning: statuses of a predecessor are read, and not written again. */
  async #compareAll(stop: AbortSignal): Promise<void> {
    const { api, namespaces, statusOf } = this.#options;
    const served = await servedKinds(api, kindsWithStatus, namespaces);
    this.#notePlaces(served.values());
    const timeSlice = new TimeSlice();
    for (const { kind, path } of served.values()) {
      for await (const { objects } of listPages<StoredObject>(api, path, stop)) {
        for (const stored of objects) {
          const { namespace = "", name = "" } = stored.metadata;
          const object = `${kind.name}/${namespace}/${name}`;
          const status = await statusOf(object);
          if (status === undefined) continue;
          this.#noteWritten(object, ownOf(stored), stored);
          if (!isWritten(status, stored)) this.#note(object);
          if (timeSlice.isDue) await timeSlice.yield();
        }
      }
    }
  }

  #takeChanged(): void {
    for (const object of this.#options.takeChanged()) this.#note(object);
  }

  #note(object: string): void {
    this.#due.note(object, this.#options.nowMs());
  }

  #noteWritten(object: string, conditions: readonly Condition[], stored: StoredObject): void {
    this.#written.set(object, { verdict: verdictOf(conditions), generation: generationOf(stored) });
  }

  /** Until there may be something to look at without anything having changed; for ever when nothing waits. */
  get #waitMs(): number | undefined {
    if (this.#due.isPending) return lookAgainMs;
    return this.#due.size > 0 ? settleMs : undefined;
  }

  /** Gives how many were looked at. */
  async #writeDue(stop: AbortSignal): Promise<number> {
    const { nowMs, hasReports } = this.#options;
    const hearsAgain = hasReports() && !this.#hadReports;
    this.#hadReports = hasReports();
    if (hearsAgain) this.#due.onHeard(nowMs());
    const taken = this.#due.take(nowMs(), looksAtOnce);
    for (const due of taken) if (!stop.aborted) await this.#lookAt(due, stop);
    return taken.length;
  }

  async #lookAt(due: Due, stop: AbortSignal): Promise<void> {
    const { nowMs, writesPerSecond, statusOf, log, retryMs = usualRetryMs } = this.#options;
    const { object, sinceMs } = due;
    const status = await statusOf(object);
    if (status === undefined) {
      this.#written.delete(object);
      return;
    }
    if (nowMs() - sinceMs < patienceMs(status)) return this.#wait(due, status, false);
    try {
      if (await this.#write(object, status)) await delay(1_000 / writesPerSecond, stop);
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      if (stop.aborted) return;
      log.warn("the status of an object is not written, trying again", { object, error });
      this.#note(object);
      await delay(retryMs, stop);
      return;
    }
    // It is written as it is now, and again when it has come further.
    if (patienceMs(status) > 0) this.#wait({ object, sinceMs: nowMs() }, status, true);
  }

  #wait(due: Due, { inForce }: ObjectStatus, isWritten: boolean): void {
    if (inForce?.distribution.replicas === 0) this.#due.silent(due, isWritten);
    else this.#due.again(due, this.#options.nowMs());
  }

  /** True when something was written. @throws KubeError */
  async #write(object: string, status: ObjectStatus): Promise<boolean> {
    const { api, nowMs } = this.#options;
    const known = this.#written.get(object);
    if (known !== undefined && known.verdict === verdictOf(conditionsOf(status, known.generation, [], "")))
      return false;
    const { kind, namespace, name } = parseConfigKey(object);
    const place = await this.#placeOf(kind);
    if (place === undefined) return false;
    const within = namespace === "" ? "" : `/namespaces/${encodeURIComponent(namespace)}`;
    const path = `${place.root}${within}/${place.kind.plural}/${encodeURIComponent(name)}`;
    const stored = await api.get<StoredObject>(path);
    if (stored === undefined) {
      this.#written.delete(object);
      return false;
    }
    const conditions = stored.status?.conditions ?? [];
    const others = conditions.filter(({ type }) => !ownConditions.has(type));
    const generation = generationOf(stored);
    const wanted = conditionsOf(status, generation, conditions, timeText(nowMs()));
    if (isWritten(status, stored)) {
      this.#noteWritten(object, wanted, stored);
      return false;
    }
    const body = {
      apiVersion: place.root.replace(/^\/apis\//, ""),
      kind: place.kind.kind,
      metadata: { name, ...(namespace !== "" && { namespace }) },
      // The list has one owner: entries of others are written with the own ones.
      status: { observedGeneration: wanted[0]?.observedGeneration ?? generation, conditions: [...others, ...wanted] },
    };
    await api.apply(`${path}/status`, body, { fieldManager, force: true });
    this.#noteWritten(object, wanted, stored);
    this.#options.onWritten();
    return true;
  }

  /** Undefined for kinds that are not served, or that have no status of ours. @throws KubeError */
  async #placeOf(kind: string): Promise<Place | undefined> {
    const { api, namespaces, nowMs } = this.#options;
    const isKnown = this.#places.has(kind) || !kindsWithStatus.some(({ name }) => name === kind);
    if (!isKnown && nowMs() - this.#placesAtMs > kindsAgainMs)
      this.#notePlaces((await servedKinds(api, kindsWithStatus, namespaces)).values());
    return this.#places.get(kind);
  }

  #notePlaces(served: Iterable<ServedKind>): void {
    const places = [...served].map(({ kind, path }) => {
      const root = path.replace(/(?:\/namespaces\/[^/]+)?\/[^/]+$/, "");
      return [kind.name, { root, kind }] as const;
    });
    this.#places = new Map(places);
    this.#placesAtMs = this.#options.nowMs();
  }
}

const kindsWithStatus = wantedKinds({ ignored: [], included: [] }).filter(
  (kind) => isIstioKind(kind) && !excluded.has(kind.name),
);

function isWritten(status: ObjectStatus, stored: StoredObject): boolean {
  return verdictOf(ownOf(stored)) === verdictOf(conditionsOf(status, generationOf(stored), [], ""));
}

function generationOf({ metadata }: StoredObject): number {
  return metadata.generation ?? 0;
}

function ownOf({ status }: StoredObject): readonly Condition[] {
  return (status?.conditions ?? []).filter(({ type }) => ownConditions.has(type));
}

/** How long the status is waited with, as more is to come by itself. */
function patienceMs({ inForce, noEffect }: ObjectStatus): number {
  if (inForce === undefined || noEffect !== undefined) return 0;
  const { live, concerned, refusals, replicas } = inForce.distribution;
  if (replicas === 0) return silenceMs;
  return refusals.length === 0 && live < concerned ? settleMs : 0;
}

/** Kubernetes' times have no fractions. */
function timeText(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}
