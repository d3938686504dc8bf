/** Drives the registry: inputs of all sources one after the other, the changes they cause out. */
import type { Registry, RegistryChange } from "@flotilla/registry";
import { mergeGroups } from "@flotilla/sources";
import type { InputSource } from "../watch/input-source.ts";

export interface RegistryGroup {
  readonly changes: readonly RegistryChange[];
  readonly eventTimeMs: number;
  /** Callers may still send requests to endpoints that are gone. */
  readonly urgent: boolean;
  /** The first group: everything there is. */
  readonly snapshot: boolean;
}

/** The snapshot waits for every source: without the ServiceEntries, say, their services would look deleted. */
export async function* runRegistry(
  registry: Registry,
  sources: readonly InputSource[],
  stop: AbortSignal,
): AsyncGenerator<RegistryGroup, void, undefined> {
  let started = false;
  for await (const { group, complete } of mergeGroups(sources, stop)) {
    const { eventTimeMs } = group;
    const { changes, urgent } = registry.apply(group.inputs);
    if (started && changes.length > 0) yield { changes, urgent, eventTimeMs, snapshot: false };
    if (!started && complete) {
      started = true;
      yield { changes: registry.state(), urgent: false, eventTimeMs, snapshot: true };
    }
  }
}
