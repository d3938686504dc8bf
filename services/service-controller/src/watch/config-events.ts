/**
 * ServiceEntries, WorkloadEntries and mesh documents from config-controller's events.
 *
 * The first group comes when config-controller has published its whole state at least once in the life of the
 * bus; it may be away now. After a new epoch of the bus, objects that it no longer holds are withdrawn.
 */
import { type Bus, filters, type SubscriberItem, subscribe } from "@flotilla/bus";
import { type Change, type ConfigChange, type ConfigKey, configKeyText } from "@flotilla/model";
import type { InputGroup, InputSource } from "./input-source.ts";

export interface ConfigEventOptions {
  readonly bus: Bus;
  readonly nowMs: () => number;
}

/** The publisher whose word is awaited. */
const publisher = "config-controller";

export function configEvents({ bus, nowMs }: ConfigEventOptions): InputSource {
  // Without the key of Secrets: they are of no use here.
  const follow = (stop: AbortSignal) =>
    subscribe({ bus, filter: filters.config, afterSequence: 0, publishers: [publisher], seal: undefined }, stop);
  return {
    name: "configuration",
    problems: () => [],
    async *groups(stop): AsyncGenerator<InputGroup, void, undefined> {
      yield* inputGroups(follow(stop), nowMs);
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
}

/** Stored objects come as one group, also after the bus has begun anew. */
export async function* inputGroups(
  items: AsyncIterable<SubscriberItem>,
  nowMs: () => number,
): AsyncGenerator<InputGroup, void, undefined> {
  const known = new Map<string, ConfigKey>();
  let collected: Map<string, ConfigChange> | undefined = new Map();
  for await (const item of items) {
    switch (item.kind) {
      case "reset":
        collected = new Map();
        break;
      case "group": {
        const inputs = item.group.changes.filter(isConfig);
        if (collected !== undefined) for (const input of inputs) collected.set(configKeyText(input.key), input);
        else if (inputs.length > 0) {
          remember(known, inputs);
          yield { inputs, eventTimeMs: item.group.cause.eventTimeMs, position: item.group.position };
        }
        break;
      }
      case "caught-up": {
        if (collected === undefined) break;
        const inputs = [...gone(known, collected), ...collected.values()];
        remember(known, inputs);
        collected = undefined;
        yield { inputs, eventTimeMs: nowMs(), position: item.position };
        break;
      }
      case "synced":
        break;
    }
  }
}

function gone(
  known: ReadonlyMap<string, ConfigKey>,
  collected: ReadonlyMap<string, ConfigChange>,
): readonly ConfigChange[] {
  return [...known]
    .filter(([text]) => !collected.has(text))
    .map(([, key]): ConfigChange => ({ type: "config", op: "delete", key }));
}

function remember(known: Map<string, ConfigKey>, changes: readonly ConfigChange[]): void {
  for (const { op, key } of changes) {
    if (op === "put") known.set(configKeyText(key), key);
    else known.delete(configKeyText(key));
  }
}

/** The kinds that services and endpoints are made from; the others are not kept. */
const kinds: ReadonlySet<string> = new Set([
  "ServiceEntry",
  "WorkloadEntry",
  "WorkloadGroup",
  "XBackend",
  "ServiceImport",
  "MeshConfig",
  "MeshNetworks",
]);

function isConfig(change: Change): change is ConfigChange {
  return change.type === "config" && kinds.has(change.key.kind);
}
