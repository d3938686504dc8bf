/** A small collection as a whole, again after each change of it: list, then watch, and list anew when the watch has a gap. */
import { backoff, delay, type Logger } from "@flotilla/runtime";
import { KubeError } from "./errors.ts";
import type { KubeApi, KubeObject } from "./kube-api.ts";

export interface FollowOptions {
  readonly log: Logger;
  readonly random: () => number;
}

interface List<T> {
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly T[];
}
interface WatchEvent<T> {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: T;
}

/** `path` may carry selectors. Runs until `stop` fires; an API server that is away is waited for. */
export async function* follow<T extends KubeObject>(
  api: KubeApi,
  path: string,
  { log, random }: FollowOptions,
  stop: AbortSignal,
): AsyncGenerator<readonly T[]> {
  let waits = backoff({ firstMs: 200, maxMs: 30_000, random });
  while (!stop.aborted) {
    try {
      for await (const objects of listAndWatch<T>(api, path, stop)) {
        waits = backoff({ firstMs: 200, maxMs: 30_000, random });
        yield objects;
      }
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      if (!stop.aborted)
        log.warn("kubernetes objects cannot be followed, trying again", { path, reason: error.message });
    }
    await delay(waits.next().value, stop);
  }
}

async function* listAndWatch<T extends KubeObject>(
  api: KubeApi,
  path: string,
  stop: AbortSignal,
): AsyncGenerator<readonly T[]> {
  const list = await api.get<List<T>>(path);
  if (list === undefined) return;
  const objects = new Map(list.items.map((object) => [keyOf(object), object]));
  yield [...objects.values()];
  let version = list.metadata.resourceVersion;
  const query = path.includes("?") ? "&" : "?";
  // The server ends a watch after some minutes; it goes on where it ended.
  while (!stop.aborted) {
    const from = `${path}${query}watch=1&allowWatchBookmarks=true&resourceVersion=${version}`;
    for await (const line of api.lines(from, stop)) {
      const { type, object } = line as WatchEvent<T>;
      // The version is too old, or the server is in trouble: everything is listed again.
      if (type === "ERROR") return;
      version = object.metadata.resourceVersion ?? version;
      if (type === "BOOKMARK") continue;
      if (type === "DELETED") objects.delete(keyOf(object));
      else objects.set(keyOf(object), object);
      yield [...objects.values()];
    }
  }
}

function keyOf({ metadata: { namespace = "", name = "" } }: KubeObject): string {
  return `${namespace}/${name}`;
}
