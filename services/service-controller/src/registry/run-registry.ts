/** Drives the registry: inputs of all sources one after the other, the changes they cause out. */
import type { ClusterRegistries, RegistryChange } from "@flotilla/registry";
import { mergeGroups } from "@flotilla/sources";
import type { InputSource } from "../watch/input-source.ts";

export interface RegistryGroup {
  readonly changes: readonly RegistryChange[];
  readonly eventTimeMs: number;
  /** The source of its cause; absent for a snapshot. */
  readonly source?: string;
  /** The configuration up to this place in the fleet's sequence is taken in; absent when there is no more of it than before. */
  readonly read?: number;
  /** Callers may still send requests to endpoints that are gone. */
  readonly urgent: boolean;
  /** Everything there is: the first group, and again when a source that could not be read has been. */
  readonly snapshot: boolean;
  /** Shards that no source could read yet; only of a snapshot. */
  readonly unread: readonly string[];
}

/** The snapshot waits for every source: without the ServiceEntries, say, their services would look deleted. */
export async function* runRegistry(
  registry: ClusterRegistries,
  sources: readonly InputSource[],
  stop: AbortSignal,
): AsyncGenerator<RegistryGroup, void, undefined> {
  let started = false;
  let lastRead: Pick<RegistryGroup, "read"> = {};
  const unreadOf = new Map<string, readonly string[]>();
  const unread = () => [...unreadOf.values()].flat();
  for await (const { source, group, complete } of mergeGroups(sources, stop)) {
    const { eventTimeMs } = group;
    const read = group.position === undefined ? {} : { read: group.position };
    const { changes, urgent } = registry.apply(group.inputs);
    const before = unread().length;
    unreadOf.set(source, group.unread ?? []);
    if (started && (changes.length > 0 || group.position !== undefined))
      yield { changes, urgent, eventTimeMs, source, ...read, snapshot: false, unread: [] };
    if (group.position !== undefined) lastRead = { read: group.position };
    if (!complete || (started && unread().length >= before)) continue;
    started = true;
    yield { changes: registry.state(), urgent: false, eventTimeMs, ...lastRead, snapshot: true, unread: unread() };
  }
}
