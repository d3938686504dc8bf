/**
 * Every subject of the control plane, with the event that travels on it. No other module spells a
 * subject or reads a payload.
 *
 *   flotilla.v1.config.<kind>.<namespace>.<name>          a configuration object
 *   flotilla.v1.service.<shard>.<namespace>.<host>.<name> a service of one shard
 *   flotilla.v1.endpoints.<shard>.<namespace>.<host>      the endpoints of a service in one shard
 *   flotilla.v1.sync.<publisher>                          the publisher has told all it knows
 *
 * The `v1` token is the version of the payloads: an incompatible change gets a new one.
 */
import { type Change, configKeyText, endpointsKeyText, serviceKeyText } from "@flotilla/model";
import { subjectRoot } from "./bus.ts";
import type { Digests } from "./digest.ts";
import { BusError } from "./errors.ts";
import { token, untoken } from "./subject.ts";

export const filters = {
  everything: `${subjectRoot}.>`,
  config: `${subjectRoot}.config.>`,
  /** For services that need the settings of the mesh and nothing else. */
  meshConfig: `${subjectRoot}.config.MeshConfig.>`,
  services: `${subjectRoot}.service.>`,
  endpoints: `${subjectRoot}.endpoints.>`,
  /** Markers: a publisher has told all it knows. */
  sync: `${subjectRoot}.sync.>`,
} as const;

export function subjectOf(change: Change): string {
  switch (change.type) {
    case "config":
      return join("config", change.key.kind, change.key.namespace, change.key.name);
    case "service":
      return join("service", change.key.shard, change.key.namespace, change.key.hostname, change.key.name);
    case "endpoints":
      return join("endpoints", change.key.shard, change.key.namespace, change.key.hostname);
  }
}

/** The delete of what travels on a subject; undefined for subjects without changes. */
export function deleteOf(subject: string): Change | undefined {
  if (!subject.startsWith(`${subjectRoot}.`)) return undefined;
  const [type, ...tokens] = subject.slice(subjectRoot.length + 1).split(".");
  const [a, b, c, d] = tokens.map(untoken);
  if (a === undefined || b === undefined || c === undefined) return undefined;
  if (type === "config") return { type, op: "delete", key: { kind: a, namespace: b, name: c } };
  if (type === "endpoints") return { type, op: "delete", key: { shard: a, namespace: b, hostname: c } };
  if (type !== "service" || d === undefined) return undefined;
  return { type, op: "delete", key: { shard: a, namespace: b, hostname: c, name: d } };
}

export function syncSubject(publisher: string): string {
  return join("sync", publisher);
}

/** The publisher that a sync marker is from; undefined for other subjects. */
export function syncPublisher(subject: string): string | undefined {
  const prefix = `${subjectRoot}.sync.`;
  return subject.startsWith(prefix) ? untoken(subject.slice(prefix.length)) : undefined;
}

/** What a marker says. */
export interface Marker {
  readonly publisher: string;
  readonly epoch: string;
  readonly digests: Digests;
}

export function encodeMarker(marker: Marker): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(marker));
}

/** The digests of a marker; none when it has none that can be read. */
export function markedDigests(payload: Uint8Array): Digests {
  try {
    const { digests = {} } = JSON.parse(new TextDecoder().decode(payload)) as Partial<Marker>;
    return digests;
  } catch {
    // A marker's word stands without them: nothing is compared.
    return {};
  }
}

/** What a change is about, for logs and snapshots: equal for a put and a delete of one key. */
export function keyText(change: Change): string {
  switch (change.type) {
    case "config":
      return `config ${configKeyText(change.key)}`;
    case "service":
      return `service ${serviceKeyText(change.key)}`;
    case "endpoints":
      return `endpoints ${endpointsKeyText(change.key)}`;
  }
}

export function encodeChange(change: Change): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(change));
}

/** @throws BusError BUS_BAD_EVENT when the payload is not a change */
export function decodeChange(payload: Uint8Array): Change {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(payload));
  } catch (cause) {
    throw new BusError("BUS_BAD_EVENT", "a payload is not JSON", { cause });
  }
  if (!isChange(value)) throw new BusError("BUS_BAD_EVENT", "a payload is not a change");
  return value;
}

function isChange(value: unknown): value is Change {
  if (typeof value !== "object" || value === null) return false;
  const { type, op, key, value: content } = value as Record<string, unknown>;
  const isKnown = type === "config" || type === "service" || type === "endpoints";
  const hasKey = typeof key === "object" && key !== null && "namespace" in key;
  return isKnown && hasKey && (op === "delete" || (op === "put" && typeof content === "object" && content !== null));
}

function join(...parts: readonly string[]): string {
  const [kind = "", ...rest] = parts;
  return [subjectRoot, kind, ...rest.map(token)].join(".");
}
