/**
 * Expected resources of proxies, as blocks: the proxies that receive a resource, its name, the resource. A step holds only what differs
 * from the stage before it: changed and new resources, null for removed ones.
 */
import type { JsonObject, JsonValue } from "@flotilla/proto";
import { shortTypes } from "@flotilla/xds/client";
import type { Capture, Expected, Resources } from "../scenario.ts";

/** By receivers (`web, batch`) and name of a resource; null for a type that is not answered any more. */
export type Block = Readonly<Record<string, JsonValue>> | null;
/** By short type and receivers. */
export type Blocks = ReadonlyMap<string, ReadonlyMap<string, Block>>;

const between = ", ";
const noCapture: Capture = new Map();
const noResources: Resources = new Map();

/** The blocks that turn `before` into `after`. */
export function blocksBetween(before: Expected, after: Expected, proxies: readonly string[]): Blocks {
  const blocks = new Map<string, ReadonlyMap<string, Block>>();
  for (const type of Object.keys(shortTypes)) {
    const found = blocksOfType(type, before, after, proxies);
    if (found.size > 0) blocks.set(type, found);
  }
  return blocks;
}

function blocksOfType(
  type: string,
  before: Expected,
  after: Expected,
  proxies: readonly string[],
): ReadonlyMap<string, Block> {
  // Name and content → who receives it.
  const receivers = new Map<string, { readonly name: string; readonly value: JsonValue; readonly to: string[] }>();
  const answers = new Map<string, Block>();
  for (const proxy of proxies) {
    const [old, now] = [before.get(proxy)?.get(type), after.get(proxy)?.get(type)];
    if (now === undefined) {
      if (old !== undefined) answers.set(proxy, null);
      continue;
    }
    const changes = changesBetween(old ?? noResources, now);
    if (old === undefined && changes.length === 0) answers.set(proxy, {});
    for (const [name, value] of changes) {
      const key = JSON.stringify([name, value]);
      const known = receivers.get(key);
      if (known === undefined) receivers.set(key, { name, value, to: [proxy] });
      else known.to.push(proxy);
    }
  }
  const blocks = new Map<string, Record<string, JsonValue>>();
  for (const { name, value, to } of [...receivers.values()].sort((a, b) => byOrder(a.name, b.name))) {
    const key = to.join(between);
    const block = blocks.get(key) ?? {};
    blocks.set(key, block);
    block[name] = value === null ? null : withoutType(type, value as JsonObject);
  }
  const most = (key: string) => key.split(between).length;
  return new Map([...answers, ...[...blocks].sort(([a], [b]) => most(b) - most(a) || byOrder(a, b))]);
}

function changesBetween(old: Resources, now: Resources): readonly (readonly [string, JsonValue])[] {
  const changed = [...now].filter(([name, value]) => canonical(old.get(name)) !== canonical(value));
  const removed = [...old.keys()].filter((name) => !now.has(name));
  return [...changed, ...removed.map((name) => [name, null] as const)];
}

/** The state after a stage's blocks. */
export function applyBlocks(before: Expected, blocks: Blocks): Expected {
  const after = new Map([...before].map(([proxy, capture]) => [proxy, new Map(capture)]));
  for (const [type, byReceivers] of blocks) {
    const started = new Map<string, Map<string, JsonObject>>();
    for (const [receivers, block] of byReceivers) {
      for (const proxy of receivers.split(between)) {
        const capture = after.get(proxy) ?? new Map<string, Resources>();
        after.set(proxy, capture);
        if (block === null) {
          capture.delete(type);
          continue;
        }
        const resources = started.get(proxy) ?? new Map((before.get(proxy) ?? noCapture).get(type) ?? noResources);
        started.set(proxy, resources);
        capture.set(type, resources);
        for (const [name, value] of Object.entries(block)) {
          if (value === null) resources.delete(name);
          else resources.set(name, withType(type, value as JsonObject));
        }
      }
    }
  }
  return after;
}

/** The type of a file's resources is that of the file. */
function withoutType(type: string, resource: JsonObject): JsonObject {
  const { "@type": own, ...rest } = resource;
  return own === shortTypes[type] ? rest : resource;
}

const typed = new WeakMap<JsonObject, JsonObject>();

/** The same object for the same resource: shared ones stay shared. */
function withType(type: string, resource: JsonObject): JsonObject {
  const known = typed.get(resource);
  if (known !== undefined) return known;
  const result: JsonObject = { "@type": shortTypes[type] ?? "", ...resource };
  typed.set(resource, result);
  return result;
}

function canonical(value: JsonObject | undefined): string {
  return value === undefined ? "" : JSON.stringify(value);
}

function byOrder(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
