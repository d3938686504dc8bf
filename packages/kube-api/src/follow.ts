/** A small collection as a whole, again after each change of it. */
import type { Logger } from "@flotilla/runtime";
import type { KubeApi, KubeObject } from "./kube-api.ts";
import { mirror } from "./mirror.ts";

export interface FollowOptions {
  readonly log: Logger;
  readonly random: () => number;
}

/** `path` may carry selectors. Runs until `stop` fires; an API server that is away is waited for. */
export async function* follow<T extends KubeObject>(
  api: KubeApi,
  path: string,
  { log, random }: FollowOptions,
  stop: AbortSignal,
): AsyncGenerator<readonly T[]> {
  const onState = (reason: string | undefined) => {
    if (reason !== undefined) log.warn("kubernetes objects cannot be followed, trying again", { path, reason });
  };
  const objects = new Map<string, T>();
  for await (const event of mirror<T>(api, { path, random, onState }, stop)) {
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
