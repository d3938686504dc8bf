/**
 * Every subject of the control plane, with the event that travels on it. No other module spells a subject or reads a payload.
 *
 *   flotilla.v1.config.<kind>.<namespace>.<name>          a configuration object
 *   flotilla.v1.service.<shard>.<namespace>.<host>.<name> a service of one shard
 *   flotilla.v1.endpoints.<shard>.<namespace>.<host>      the endpoints of a service in one shard
 *   flotilla.v1.workload.<shard>.<namespace>.<uid>        a workload of the ambient mesh
 *   flotilla.v1.sync.<publisher>                          the publisher has published its whole state
 *
 * The `v1` token is the version of the payloads: an incompatible change gets a new one.
 *
 * Digests of a publisher's whole published state: a follower compares them with its own and so detects losses on the way. A number that
 * does not depend on the order, one for each topic.
 */
import { hash } from "node:crypto";
import {
  type Change,
  changeShape,
  configKeyText,
  decodeShape,
  endpointsKeyText,
  integer,
  number,
  objectOf,
  ownValue,
  recordOf,
  serviceKeyText,
  workloadKeyText,
} from "@flotilla/model";
import { subjectRoot } from "./bus.ts";
import { BusError } from "./errors.ts";

/** Subject filters of the topics. */
export const filters = {
  everything: `${subjectRoot}.>`,
  config: `${subjectRoot}.config.>`,
  /** For services that need the settings of the mesh and nothing else. */
  meshConfig: `${subjectRoot}.config.MeshConfig.>`,
  services: `${subjectRoot}.service.>`,
  endpoints: `${subjectRoot}.endpoints.>`,
  workloads: `${subjectRoot}.workload.>`,
  /** Markers: a publisher has published its whole state. */
  sync: `${subjectRoot}.sync.>`,
} as const;

/** The subject of a change: one for each key, so that the stream keeps the last value of each. */
export function subjectOf(change: Change): string {
  switch (change.type) {
    case "config":
      return join("config", change.key.kind, change.key.namespace, change.key.name);
    case "service":
      return join("service", change.key.shard, change.key.namespace, change.key.hostname, change.key.name);
    case "endpoints":
      return join("endpoints", change.key.shard, change.key.namespace, change.key.hostname);
    case "workload":
      return join("workload", change.key.shard, change.key.namespace, change.key.uid);
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
  if (type === "workload") return { type, op: "delete", key: { shard: a, namespace: b, uid: c } };
  if (type !== "service" || d === undefined) return undefined;
  return { type, op: "delete", key: { shard: a, namespace: b, hostname: c, name: d } };
}

/** The subject on which a publisher marks that its initial state is complete. */
export function syncSubject(publisher: string): string {
  return join("sync", publisher);
}

/** The publisher that a sync marker is from; undefined for other subjects. */
export function syncPublisher(subject: string): string | undefined {
  const prefix = `${subjectRoot}.sync.`;
  return subject.startsWith(prefix) ? untoken(subject.slice(prefix.length)) : undefined;
}

/** Payload of a marker. */
interface Marker {
  readonly publisher: string;
  readonly epoch: string;
  readonly digests: Digests;
}

/** A marker as JSON. */
export function encodeMarker(marker: Marker): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(marker));
}

const digestsShape = objectOf({}, { digests: recordOf(objectOf({ count: integer, sum: number })) });

/** The digests of a marker. @throws RangeError, SyntaxError, TypeError when it is none */
export function markedDigests(payload: Uint8Array): Digests {
  return decodeShape<Partial<Marker>>(payload, digestsShape).digests ?? {};
}

/** The subject of a change, for logs and snapshots: equal for a put and a delete of one key. */
export function keyText(change: Change): string {
  switch (change.type) {
    case "config":
      return `config ${configKeyText(change.key)}`;
    case "service":
      return `service ${serviceKeyText(change.key)}`;
    case "endpoints":
      return `endpoints ${endpointsKeyText(change.key)}`;
    case "workload":
      return `workload ${workloadKeyText(change.key)}`;
  }
}

/** A change as JSON with its key, the form that `decodeChange` reads. */
export function encodeChange(change: Change): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(change));
}

/** The one decoder of changes, from the bus and from the snapshot. @throws BusError BUS_BAD_EVENT that names the field */
export function decodeChange(payload: Uint8Array): Change {
  try {
    return decodeShape<Change>(payload, changeShape);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new BusError("BUS_BAD_EVENT", `a payload is no change: ${reason}`, { cause });
  }
}

function join(...parts: readonly string[]): string {
  const [kind = "", ...rest] = parts;
  return [subjectRoot, kind, ...rest.map(token)].join(".");
}

/**
 * NATS subjects: tokens between dots, `*` for one token and `>` for the rest in filters. NATS tokens hold no dots, blanks
 * or wildcards; Kubernetes names and hosts do. Different texts give different tokens.
 */
export function token(text: string): string {
  if (text === "") return "_"; // an empty token would make an illegal subject
  return text.replaceAll(/[^A-Za-z0-9-]/g, (c) => `_${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** The text that `token` was made from. */
export function untoken(text: string): string {
  if (text === "_") return "";
  return text.replaceAll(/_([0-9a-f]{4})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

/** True where a subject matches a NATS filter, with `*` for one token and `>` for the rest. */
export function matchesFilter(subject: string, filter: string): boolean {
  const [parts, wanted] = [subject.split("."), filter.split(".")];
  for (const [i, want] of wanted.entries()) {
    if (want === ">") return parts.length > i;
    if (parts[i] === undefined || (want !== "*" && want !== parts[i])) return false;
  }
  return parts.length === wanted.length;
}

/** Digest of all values of a topic; equal for equal states. */
export interface TopicDigest {
  readonly count: number;
  /** Sum over all keys and contents, modulo 2⁴⁸. */
  readonly sum: number;
}

/** By topic: `service`, `endpoints`, `config.<kind>`. */
export type Digests = Readonly<Record<string, TopicDigest>>;

/** A key that a reader holds: its subject and the fingerprint of the last value. */
export interface KeyState {
  readonly subject: string;
  readonly fingerprint: string;
}

const modulus = 2 ** 48;

/** @param topics that are published even when nothing is left of them */
export function digestsOf(states: Iterable<KeyState>, topics: Iterable<string> = []): Digests {
  const digests = new Map<string, TopicDigest>();
  for (const topic of topics) digests.set(topic, { count: 0, sum: 0 });
  for (const { subject, fingerprint } of states) {
    const topic = topicOf(subject);
    const { count, sum } = digests.get(topic) ?? { count: 0, sum: 0 };
    digests.set(topic, { count: count + 1, sum: (sum + weight(subject, fingerprint)) % modulus });
  }
  return Object.fromEntries(digests);
}

/** The digests of what comes and goes: each change costs the same, however much there is. */
export class RunningDigests {
  readonly #digests = new Map<string, TopicDigest>();

  /** @param sign -1 takes away what was added */
  note({ subject, fingerprint }: KeyState, sign: 1 | -1): void {
    const topic = topicOf(subject);
    const { count, sum } = this.#digests.get(topic) ?? { count: 0, sum: 0 };
    const moved = (sum + sign * weight(subject, fingerprint) + modulus) % modulus;
    this.#digests.set(topic, { count: count + sign, sum: moved });
  }

  /** Topics of which nothing is left have their place, too. */
  read(): Digests {
    return Object.fromEntries(this.#digests);
  }
}

/** The topic of a subject, such as `config` or `service`: digests are counted by topic. */
export function topicOf(subject: string): string {
  const [type = "", kind = ""] = subject.slice(subjectRoot.length + 1).split(".", 2);
  return type === "config" ? `config.${kind}` : type;
}

/** The narrowest subject filters that match the messages of all these topics, one for each type of change. */
export function filtersOf(topics: Iterable<string>): readonly string[] {
  const types = Map.groupBy(topics, (topic) => topic.split(".", 1)[0] ?? "");
  return [...types].map(([type, [only = type, ...others]]) => `${subjectRoot}.${others.length === 0 ? only : type}.>`);
}

/** Topics whose digests differ. */
export function differingTopics(published: Digests, held: Digests): readonly string[] {
  return Object.entries(published)
    .filter(([topic, { count, sum }]) => {
      const own = ownValue(held, topic) ?? { count: 0, sum: 0 };
      return own.count !== count || own.sum !== sum;
    })
    .map(([topic]) => topic);
}

function weight(subject: string, fingerprint: string): number {
  return Number.parseInt(hash("sha256", `${subject} ${fingerprint}`).slice(0, 12), 16);
}
