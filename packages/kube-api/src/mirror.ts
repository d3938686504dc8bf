/**
 * A whole kind as it changes: listed in pages, then watched from where the list ended. A watch that ends goes on from the last version
 * seen; when that is too old everything is listed anew, and until that list is complete the last state stays. A watch that is silent for
 * long is given up for another from the same version: a quiet one cannot be distinguished from one that is lost.
 */
import { backoff, delay, type Logger } from "@flotilla/runtime";
import { pageOf, type WatchLine, watchLineOf } from "./answer-forms.ts";
import { KubeError } from "./errors.ts";
import type { KubeApi, KubeObject } from "./kube-api.ts";

/** The state of a kind as a list, then its changes. */
export type MirrorEvent<T> =
  /** All objects as of `version`; others are gone. `objects` is emptied when the next event is asked for. */
  | { readonly type: "list"; readonly objects: readonly T[]; readonly version: string }
  | { readonly type: "put"; readonly object: T }
  | { readonly type: "delete"; readonly object: T };

/** The collection to mirror, and callbacks for its state. */
export interface MirrorOptions {
  /** Such as `/api/v1/pods`; may carry selectors. */
  readonly path: string;
  readonly random: () => number;
  /** Called at each failure, with the status of the answer if there was one, and with undefined when the server takes a watch. */
  readonly onState: (failure: string | undefined, status?: number) => void;
  /** A kind unknown to the server is one without objects; it may be defined later. */
  readonly mayBeAbsent?: boolean;
  /** Another watch is begun after this long without an event. */
  readonly silenceMs?: number;
}

interface Listing<T> {
  readonly objects: T[];
  readonly version: string;
}

const pageSize = 500;
const watchMs = 300_000;
/** API servers send a bookmark after 60 to 75 s in which nothing happened. */
const usualSilenceMs = 100_000;
/** A watch without an answer is given up after this. */
const answerMs = 30_000;
/** Waits before a kind unknown to the server is asked for again: definitions are often added one after the other. */
const absentWaits = { firstMs: 2_000, maxMs: 20_000 };
/** At most, before the next watch after one without events. */
const emptyWatchMs = 200;

/** Runs until `stop` fires, after which nothing is reported; an API server that is away, or refuses, is asked again. */
export async function* mirror<T extends KubeObject>(
  api: KubeApi,
  options: MirrorOptions,
  stop: AbortSignal,
): AsyncGenerator<MirrorEvent<T>, void, undefined> {
  const { path, random, onState, mayBeAbsent } = options;
  let version: string | undefined;
  let isAbsent = false;
  let waits = backoff({ firstMs: 100, maxMs: 30_000, random });
  let absences = backoff({ ...absentWaits, random });
  while (!stop.aborted) {
    let hasHeard = false;
    try {
      if (version === undefined) {
        const listing: Listing<T> = await listAll<T>(api, path, stop);
        // A reader that has given up this connection must get no more events of it.
        if (stop.aborted) return;
        isAbsent = false;
        absences = backoff({ ...absentWaits, random });
        yield { type: "list", ...listing };
        version = listing.version;
        // A loop holds its last event until the next one comes, which may take for ever.
        listing.objects.length = 0;
      }
      for await (const line of watch<T>(api, options, version, stop)) {
        if (stop.aborted) return;
        if (line.type === "ERROR") {
          version = undefined;
          // 410: the version is too old. Anything else is no reason to trust it either.
          const { code, message = "an error without a message" } = line.object;
          if (code === 410) break;
          throw new KubeError("KUBE_AWAY", `watch ${path}: ${String(message)}`);
        }
        hasHeard = true;
        waits = backoff({ firstMs: 100, maxMs: 30_000, random });
        version = line.object.metadata.resourceVersion ?? version;
        if (line.type !== "BOOKMARK") yield { type: line.type === "DELETED" ? "delete" : "put", object: line.object };
      }
      // A server, or what stands before it, may end each watch as it begins.
      if (!hasHeard) await delay(emptyWatchMs * random(), stop);
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      if (stop.aborted) return;
      if (error.status === 404 && mayBeAbsent === true) {
        version = undefined;
        if (!isAbsent) yield { type: "list", objects: [], version: "" };
        isAbsent = true;
        onState(undefined);
        await delay(absences.next().value, stop);
        continue;
      }
      if (error.status === 410) version = undefined;
      onState(error.message, error.status);
      await delay(waits.next().value, stop);
    }
  }
}

/** Everything as it is now, past any cache. @throws KubeError */
export async function listAll<T extends KubeObject>(
  api: KubeApi,
  path: string,
  stop?: AbortSignal,
): Promise<Listing<T>> {
  const objects: T[] = [];
  let version = "";
  for await (const page of listPages<T>(api, path, stop)) {
    for (const object of page.objects) objects.push(object);
    version = page.version;
  }
  return { objects, version };
}

/** The same page by page, for who keeps little of each object. All pages are of one version. @throws KubeError */
export async function* listPages<T extends KubeObject>(
  api: KubeApi,
  path: string,
  stop?: AbortSignal,
): AsyncGenerator<Listing<T>, void, undefined> {
  const query = path.includes("?") ? "&" : "?";
  let from = "";
  for (;;) {
    const answer = await api.get<unknown>(`${path}${query}limit=${pageSize}${from}`, stop);
    if (answer === undefined) throw new KubeError("KUBE_REFUSED", `${path}: there is no such kind`, { status: 404 });
    const page = pageOf<T>(`${path} at ${api.server}`, answer);
    const { apiVersion, metadata, items } = page;
    const kind = page.kind?.replace(/List$/, "");
    // Items of a list have neither `apiVersion` nor `kind`.
    const objects = items.map((item) => {
      const { metadata: all } = item;
      // The owners of fields may be as large as the object, and have no readers here.
      const { managedFields: _, ...own } = all as typeof all & { readonly managedFields?: unknown };
      return { ...item, ...(apiVersion && { apiVersion }), ...(kind && { kind }), metadata: own };
    });
    yield { objects, version: metadata.resourceVersion };
    if (!metadata.continue) return;
    from = `&continue=${encodeURIComponent(metadata.continue)}`;
  }
}

async function* watch<T extends KubeObject>(
  api: KubeApi,
  { path, random, onState, silenceMs = usualSilenceMs }: MirrorOptions,
  version: string,
  stop: AbortSignal,
): AsyncGenerator<WatchLine<T>> {
  // Spread, so that watches that began together do not end together.
  const seconds = Math.round((watchMs / 1_000) * (1 + random()));
  const query = path.includes("?") ? "&" : "?";
  const from = `${path}${query}watch=1&allowWatchBookmarks=true&timeoutSeconds=${seconds}&resourceVersion=${version}`;
  const ending = new AbortController();
  const end = () => ending.abort();
  let isOpen = false;
  let silence = setTimeout(end, Math.min(silenceMs, answerMs));
  const onOpen = () => {
    isOpen = true;
    clearTimeout(silence);
    silence = setTimeout(end, silenceMs);
    onState(undefined);
  };
  stop.addEventListener("abort", end, { once: true });
  if (stop.aborted) end();
  try {
    for await (const line of api.lines(from, ending.signal, onOpen)) {
      // A reader that takes its time is no silence of the server.
      clearTimeout(silence);
      yield watchLineOf<T>(`${path} at ${api.server}`, line);
      silence = setTimeout(end, silenceMs);
    }
  } catch (cause) {
    if (isOpen || !ending.signal.aborted) throw cause;
    throw new KubeError("KUBE_AWAY", `watch ${path} at ${api.server}: no answer in time`, { cause });
  } finally {
    clearTimeout(silence);
    stop.removeEventListener("abort", end);
  }
}

/** The log, and a source of random numbers in [0, 1) that spreads retries. */
export interface FollowOptions {
  readonly log: Logger;
  readonly random: () => number;
  /** A kind unknown to the server is one without objects; it may be defined later. */
  readonly mayBeAbsent?: boolean;
}

/**
 * A small collection as a whole, again after each change of it. `path` may carry selectors. Runs until `stop` fires; an API
 * server that is away is waited for.
 */
export async function* follow<T extends KubeObject>(
  api: KubeApi,
  path: string,
  { log, random, mayBeAbsent = false }: FollowOptions,
  stop: AbortSignal,
): AsyncGenerator<readonly T[]> {
  const onState = (reason: string | undefined) => {
    if (reason !== undefined) log.warn("kubernetes objects cannot be followed, trying again", { path, reason });
  };
  const objects = new Map<string, T>();
  for await (const event of mirror<T>(api, { path, random, onState, mayBeAbsent }, stop)) {
    if (event.type === "list") {
      objects.clear();
      for (const object of event.objects) objects.set(keyOf(object), object);
    } else if (event.type === "put") objects.set(keyOf(event.object), event.object);
    else objects.delete(keyOf(event.object));
    yield [...objects.values()];
  }
}

function keyOf({ metadata: { namespace = "", name = "" } }: KubeObject): string {
  return `${namespace}/${name}`;
}
