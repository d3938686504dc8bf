/**
 * A whole kind as it changes: listed in pages, then watched from where the list ended. A watch that ends goes on from the last
 * version seen; when that is too old everything is listed anew, and until that list is complete what is known stands.
 */
import { backoff, delay } from "@flotilla/runtime";
import { KubeError } from "./errors.ts";
import type { KubeApi, KubeObject } from "./kube-api.ts";

export type MirrorEvent<T> =
  /** Everything there is; what is not in it is gone. */
  | { readonly type: "list"; readonly objects: readonly T[] }
  | { readonly type: "put"; readonly object: T }
  | { readonly type: "delete"; readonly object: T };

export interface MirrorOptions {
  /** Such as `/api/v1/pods`; may carry selectors. */
  readonly path: string;
  readonly random: () => number;
  /** Told of each failure, and of undefined when it works again. */
  readonly onState: (failure: string | undefined) => void;
}

interface Page<T> {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items: readonly T[];
}
interface Listing<T> {
  readonly objects: readonly T[];
  readonly version: string;
}
interface WatchLine<T> {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: T & { readonly code?: number; readonly message?: string };
}

const pageSize = 500;
const watchMs = 300_000;
/** A connection that died without a word is noticed this long after the server should have ended the watch. */
const graceMs = 15_000;

/** Runs until `stop` fires; an API server that is away, or refuses, is asked again. */
export async function* mirror<T extends KubeObject>(
  api: KubeApi,
  { path, random, onState }: MirrorOptions,
  stop: AbortSignal,
): AsyncGenerator<MirrorEvent<T>, void, undefined> {
  let version: string | undefined;
  let waits = backoff({ firstMs: 100, maxMs: 30_000, random });
  while (!stop.aborted) {
    try {
      if (version === undefined) {
        const listing: Listing<T> = await listAll<T>(api, path);
        yield { type: "list", objects: listing.objects };
        version = listing.version;
      }
      onState(undefined);
      for await (const { type, object } of watch<T>(api, path, version, random, stop)) {
        if (type === "ERROR") {
          version = undefined;
          // 410: the version is too old. Anything else is no reason to trust it either.
          if (object.code !== 410) onState(`watch ${path}: ${object.message ?? "an error without a word"}`);
          break;
        }
        waits = backoff({ firstMs: 100, maxMs: 30_000, random });
        version = object.metadata.resourceVersion ?? version;
        if (type !== "BOOKMARK") yield { type: type === "DELETED" ? "delete" : "put", object };
      }
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      if (stop.aborted) return;
      if (error.status === 410) version = undefined;
      onState(error.message);
      await delay(waits.next().value, stop);
    }
  }
}

/** Everything as it is now, past any cache. @throws KubeError */
export async function listAll<T extends KubeObject>(api: KubeApi, path: string): Promise<Listing<T>> {
  const objects: T[] = [];
  const query = path.includes("?") ? "&" : "?";
  let from = "";
  for (;;) {
    const page = await api.get<Page<T>>(`${path}${query}limit=${pageSize}${from}`);
    if (page === undefined) throw new KubeError("KUBE_REFUSED", `${path}: there is no such kind`);
    const { apiVersion, metadata, items } = page;
    const kind = page.kind?.replace(/List$/, "");
    // Items of a list do not say what they are.
    for (const item of items) objects.push({ ...item, ...(apiVersion && { apiVersion }), ...(kind && { kind }) });
    if (!metadata.continue) return { objects, version: metadata.resourceVersion };
    from = `&continue=${encodeURIComponent(metadata.continue)}`;
  }
}

async function* watch<T extends KubeObject>(
  api: KubeApi,
  path: string,
  version: string,
  random: () => number,
  stop: AbortSignal,
): AsyncGenerator<WatchLine<T>> {
  // Spread, so that watches that began together do not end together.
  const ms = Math.round(watchMs * (1 + random()));
  const query = path.includes("?") ? "&" : "?";
  const seconds = Math.round(ms / 1_000);
  const from = `${path}${query}watch=1&allowWatchBookmarks=true&timeoutSeconds=${seconds}&resourceVersion=${version}`;
  for await (const line of api.lines(from, AbortSignal.any([stop, AbortSignal.timeout(ms + graceMs)])))
    yield line as WatchLine<T>;
}
