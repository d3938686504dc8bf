/**
 * Writes the status of Gateway API objects into Kubernetes: differences only, by server-side apply. Objects come from
 * the published configuration, services from the bus, so that the status is about what proxies are configured with.
 */
import type { Bus } from "@flotilla/bus";
import { builtInClasses, type GatewayClassSettings, type InferencePoolSpec } from "@flotilla/gateway-api";
import { Graph, type Observation } from "@flotilla/incremental";
import { type Kind, kindNamed } from "@flotilla/kinds";
import { type KubeApi, KubeError } from "@flotilla/kube-api";
import { type Config, type ConfigKey, configKeyText, parseConfigKey } from "@flotilla/model";
import { type Logger, Wakeup } from "@flotilla/runtime";
import type { PublishedConfig } from "../follow/published-config.ts";
import { type ServedKind, servedKinds } from "../watch/kubernetes/served-kinds.ts";
import { GatewayInputs, inputs, isInput, type NoSubject, statusKinds } from "./gateway-inputs.ts";
import { type StatusFields, statusQuery } from "./gateway-queries.ts";
import { isWritten, stampedStatus } from "./gateway-status-merge.ts";
import { keepPoolService } from "./pool-service.ts";
import { followServices, ServiceTable } from "./service-facts.ts";
import { type StoredObject, StoredObjects } from "./stored-objects.ts";

export interface GatewayStatusOptions {
  readonly api: KubeApi;
  readonly bus: Bus;
  readonly published: Pick<PublishedConfig, "all" | "listen">;
  /** DNS suffix of Kubernetes services. */
  readonly domain: string;
  readonly classes: GatewayClassSettings;
  /** Namespaces that are read; empty: all. */
  readonly namespaces: readonly string[];
  /** Objects of the API server, available without a request. */
  readonly stored?: StoredObjects;
  readonly onWritten: () => void;
  readonly log: Logger;
  readonly nowMs: () => number;
}

const fieldManager = "flotilla-gateway-status";
/** As many as the client has connections for. */
export const writesAtOnce = 24;
const retryMs = 2_000;
/** After a kind was looked for in vain. */
const kindsAgainMs = 10_000;
/** Each route that attaches changes the status of its Gateway: one write counts many. */
const gatherMs = 300;

export class GatewayStatus {
  readonly #options: GatewayStatusOptions;
  readonly #graph = new Graph<NoSubject>();
  readonly #inputs = new GatewayInputs(this.#graph);
  readonly #stored: StoredObjects;
  readonly #wakeup = new Wakeup();
  readonly #observed = new Map<string, Observation<StatusFields | undefined>>();
  /** When objects are to be looked at, by their key; in order of the time but for those that gather. */
  readonly #due = new Map<string, number>();
  /** The status that was found or written last. */
  readonly #written = new Map<string, string>();
  /** An object has one write at a time. */
  readonly #writing = new Map<string, Promise<void>>();
  #places: Promise<ReadonlyMap<string, string>> | undefined;
  #placesAtMs = 0;

  constructor(options: GatewayStatusOptions) {
    this.#options = options;
    this.#stored = options.stored ?? new StoredObjects();
    this.#graph.set(inputs.domain, options.domain);
    this.#graph.set(inputs.classes, builtInClasses(options.classes));
  }

  /** Runs until `stop` fires: while this process has the duty. */
  async run(stop: AbortSignal): Promise<void> {
    const { published, bus } = this.#options;
    const end = published.listen({
      onBaseline: () => this.#readAll(),
      onGeneration: ({ changes }) => this.#apply(changes.map(({ key, after }) => [key, after])),
    });
    const endWatch = this.#stored.listen((text) => this.#restore(text));
    try {
      this.#readAll();
      const table = new ServiceTable();
      const known = Promise.withResolvers<void>();
      const onChanged = (hosts: ReadonlySet<string>) => {
        for (const host of hosts) this.#inputs.setService(host, table.factsOf(host));
        known.resolve();
      };
      const following = followServices(bus, table, onChanged, stop);
      await Promise.race([known.promise, following]);
      await Promise.all([following, this.#writeDue(stop)]);
    } finally {
      end();
      endWatch();
      for (const observation of this.#observed.values()) observation.release();
    }
  }

  #readAll(): void {
    const found = new Map<string, readonly [ConfigKey, Config | undefined]>();
    for (const text of this.#observed.keys()) found.set(text, [parseConfigKey(text), undefined]);
    for (const { key, config } of this.#options.published.all(isInput)) found.set(configKeyText(key), [key, config]);
    this.#apply([...found.values()]);
  }

  #apply(changes: readonly (readonly [ConfigKey, Config | undefined])[]): void {
    const relevant = changes.filter(([key]) => isInput(key));
    for (const [key, after] of relevant) this.#inputs.set(key, after);
    this.#inputs.flush();
    for (const [key, after] of relevant) if (statusKinds.has(key.kind)) this.#observe(configKeyText(key), after);
  }

  #observe(text: string, after: Config | undefined): void {
    if (after === undefined) {
      this.#observed.get(text)?.release();
      for (const table of [this.#observed, this.#due, this.#written]) table.delete(text);
      return;
    }
    // It may be another object of the same name: the one before may have been deleted and made again in one step.
    this.#written.delete(text);
    this.#note(text);
  }

  /** Somebody else may have taken out of a status what was written there. */
  #restore(text: string): void {
    if (!this.#written.has(text) || this.#writing.has(text)) return;
    const [stored, object] = [this.#stored.get(text), this.#graph.get(inputs.object(parseConfigKey(text)))];
    const fields = this.#observed.get(text)?.value;
    if (stored === undefined || object === undefined || fields === undefined) return;
    // A later generation has not come as configuration yet: it is looked at then.
    if (stored.metadata.generation !== object.generation) return;
    const stamp = { generation: object.generation, now: new Date(this.#options.nowMs()).toISOString() };
    if (isWritten(stampedStatus(fields, stored.status, stamp), stored.status)) return;
    this.#written.delete(text);
    this.#note(text);
  }

  #note(text: string, afterMs = gathers(text) ? gatherMs : 0): void {
    const dueMs = this.#options.nowMs() + afterMs;
    if ((this.#due.get(text) ?? Number.POSITIVE_INFINITY) <= dueMs) return;
    this.#due.set(text, dueMs);
    this.#wakeup.wake();
  }

  async #writeDue(stop: AbortSignal): Promise<void> {
    let failure: { readonly cause: unknown } | undefined;
    while (!stop.aborted && failure === undefined) {
      const text = this.#takeDue();
      if (text === undefined) {
        await this.#wakeup.wait(stop, this.#waitMs);
        continue;
      }
      const work = this.#lookAt(text).catch((cause: unknown) => {
        failure ??= { cause };
      });
      this.#writing.set(
        text,
        work.finally(() => {
          this.#writing.delete(text);
          this.#wakeup.wake();
        }),
      );
    }
    await Promise.all(this.#writing.values());
    if (failure !== undefined) throw failure.cause;
  }

  /** The next that is due, and not being written. */
  #takeDue(): string | undefined {
    if (this.#writing.size >= writesAtOnce) return undefined;
    const now = this.#options.nowMs();
    for (const [text, dueMs] of this.#due) {
      if (dueMs > now || this.#writing.has(text)) continue;
      this.#due.delete(text);
      return text;
    }
    return undefined;
  }

  /** Until the next of those that wait is due; undefined: until something changes, or a write ends. */
  get #waitMs(): number | undefined {
    if (this.#writing.size >= writesAtOnce) return undefined;
    const waiting = [...this.#due].flatMap(([text, dueMs]) => (this.#writing.has(text) ? [] : dueMs));
    return waiting.length === 0 ? undefined : Math.max(1, Math.min(...waiting) - this.#options.nowMs());
  }

  async #lookAt(text: string): Promise<void> {
    try {
      await this.#write(text);
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      this.#stored.forget(text);
      const { log } = this.#options;
      if (error.code === "KUBE_CONFLICT") log.debug("a status changed meanwhile, trying again", { object: text });
      else log.warn("the status of an object is not written, trying again", { object: text, error });
      this.#note(text, error.code === "KUBE_CONFLICT" ? 0 : retryMs);
    }
  }

  /** @throws KubeError */
  async #write(text: string): Promise<void> {
    const key = parseConfigKey(text);
    const object = this.#graph.get(inputs.object(key));
    const fields = this.#statusOf(text);
    if (object === undefined || fields === undefined) return;
    const { generation } = object;
    const written = JSON.stringify([generation, fields]);
    const isPool = key.kind === "InferencePool";
    if (this.#written.get(text) === written && !isPool) return;
    const path = await this.#pathOf(key);
    if (path === undefined) return this.#note(text, kindsAgainMs);
    const { api, nowMs, onWritten } = this.#options;
    const now = new Date(nowMs()).toISOString().replace(/\.\d+Z$/, "Z");
    const wanted = ({ metadata, status }: StoredObject) =>
      stampedStatus(fields, status, { generation: generation ?? metadata.generation, now });
    // The noted object may be an earlier one of the same name: it suffices for a write, but not for skipping one.
    const known = this.#stored.get(text);
    const isBehind = known !== undefined && !isWritten(wanted(known), known.status);
    const stored = isBehind ? known : await api.get<StoredObject>(path);
    if (stored === undefined) return;
    const { uid = "" } = stored.metadata;
    if (isPool && hasEntries(fields)) await keepPoolService(this.#options, object as Config<InferencePoolSpec>, uid);
    const status = wanted(stored);
    if (!isWritten(status, stored.status)) {
      const { kind = "" } = kindNamed(key.kind) ?? {};
      // With its version: an entry that another controller writes meanwhile is not lost.
      const { resourceVersion } = stored.metadata;
      const metadata = { name: key.name, ...(key.namespace !== "" && { namespace: key.namespace }), resourceVersion };
      const body = { apiVersion: apiVersionOf(path), kind, metadata, status };
      this.#stored.note(key, await api.apply<StoredObject>(`${path}/status`, body, { fieldManager, force: true }));
      onWritten();
    }
    this.#written.set(text, written);
  }

  #statusOf(text: string): StatusFields | undefined {
    const known = this.#observed.get(text);
    if (known?.again() === true) return known.value;
    known?.release();
    const observation = this.#graph.observe(statusQuery, text, undefined, () => this.#note(text));
    this.#observed.set(text, observation);
    return observation.value;
  }

  /** @throws KubeError */
  async #readPlaces(): Promise<ReadonlyMap<string, string>> {
    const { api, namespaces } = this.#options;
    try {
      return placesOf((await servedKinds(api, kindsWithStatus, namespaces)).values());
    } catch (error) {
      this.#places = undefined;
      throw error;
    }
  }

  /** Undefined while its kind is not served. @throws KubeError */
  async #pathOf({ kind, namespace, name }: ConfigKey): Promise<string | undefined> {
    const { nowMs } = this.#options;
    const isDue = this.#places === undefined || nowMs() - this.#placesAtMs >= kindsAgainMs;
    const isKnown = this.#places !== undefined && (await this.#places).has(kind);
    if (isDue && !isKnown) {
      this.#placesAtMs = nowMs();
      this.#places = this.#readPlaces();
    }
    const root = (await this.#places)?.get(kind);
    const within = namespace === "" ? "" : `/namespaces/${encodeURIComponent(namespace)}`;
    return root && `${root}${within}/${kindNamed(kind)?.plural}/${encodeURIComponent(name)}`;
  }
}

const kindsWithStatus: readonly Kind[] = [...statusKinds].flatMap((name) => kindNamed(name) ?? []);

/** `/apis/GROUP/VERSION` by kind. */
function placesOf(served: Iterable<ServedKind>): ReadonlyMap<string, string> {
  return new Map(
    [...served].map(({ kind, path }) => [kind.name, path.replace(/(?:\/namespaces\/[^/]+)?\/[^/]+$/, "")]),
  );
}

function apiVersionOf(path: string): string {
  return path.split("/").slice(2, 4).join("/");
}

/** Some Gateway has a route to the pool. */
function hasEntries({ parents }: StatusFields): boolean {
  return Array.isArray(parents) && parents.length > 0;
}

function gathers(text: string): boolean {
  return text.startsWith("KubernetesGateway/") || text.startsWith("ListenerSet/");
}
