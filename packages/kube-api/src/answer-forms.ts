/**
 * The form of what an API server says of a kind, checked before it is believed. The server keeps no object without a name, but a proxy before
 * it, or what stands at the address of a joined cluster, may answer with anything: that is a failure of this server, and of nothing else.
 */
import { KubeError } from "./errors.ts";
import type { KubeObject } from "./kube-api.ts";

/** Some of the objects of a kind; the items have neither `apiVersion` nor `kind`. */
export interface Page<T> {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items: readonly T[];
}

/** One event of a watch. */
export type WatchLine<T> =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: T }
  | { readonly type: "BOOKMARK"; readonly object: KubeObject }
  | { readonly type: "ERROR"; readonly object: { readonly code?: unknown; readonly message?: unknown } };

/** @param asked a path and its server, for the error. @throws KubeError KUBE_AWAY that names the field */
export function pageOf<T extends KubeObject>(asked: string, answer: unknown): Page<T> {
  const wrong = (reason: string): never => {
    throw new KubeError("KUBE_AWAY", `GET ${asked}: the answer is no list of objects: ${reason}`);
  };
  if (!isRecord(answer)) return wrong("it is no object");
  const { metadata, apiVersion, kind } = answer;
  if (!isRecord(metadata) || typeof metadata["resourceVersion"] !== "string")
    return wrong("metadata.resourceVersion is no text");
  for (const [field, value] of Object.entries({ apiVersion, kind, "metadata.continue": metadata["continue"] }))
    if (!isTextOrAbsent(value)) return wrong(`${field} is no text`);
  // Go writes a list that was never made as null.
  const items = answer["items"] === null ? [] : answer["items"];
  if (!Array.isArray(items)) return wrong("items is no list");
  for (const [index, item] of items.entries()) {
    const reason = whyNoObject(item);
    if (reason !== undefined) return wrong(`items[${index}]${reason}`);
  }
  return { ...answer, items } as unknown as Page<T>;
}

/** The object that was asked for by its name. @param asked as above. @throws KubeError KUBE_AWAY where it is another one, or none */
export function objectOf(
  asked: string,
  answer: unknown,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): KubeObject {
  const reason = whyNoObject(answer);
  if (reason !== undefined) throw new KubeError("KUBE_AWAY", `GET ${asked}: the answer${reason}`);
  const object = answer as KubeObject;
  const { name: given, namespace: home = "" } = object.metadata;
  if (given !== name || home !== namespace)
    throw new KubeError("KUBE_AWAY", `GET ${asked}: the answer is ${JSON.stringify(`${home}/${given}`)}`);
  return object;
}

/** @param asked a path and its server, for the error. @throws KubeError KUBE_AWAY that names the field */
export function watchLineOf<T extends KubeObject>(asked: string, line: unknown): WatchLine<T> {
  const wrong = (reason: string): never => {
    throw new KubeError("KUBE_AWAY", `watch ${asked}: a line is no event: ${reason}`);
  };
  if (!isRecord(line)) return wrong("it is no object");
  const { type, object } = line;
  if (type === "ERROR") return { type, object: isRecord(object) ? object : {} };
  if (type === "BOOKMARK") {
    const reason = whyNoMetadata(object);
    return reason === undefined ? { type, object: object as KubeObject } : wrong(`object${reason}`);
  }
  if (type !== "ADDED" && type !== "MODIFIED" && type !== "DELETED")
    return wrong(`its type is ${JSON.stringify(type)}`.slice(0, 100));
  const reason = whyNoObject(object);
  return reason === undefined ? { type, object: object as T } : wrong(`object${reason}`);
}

function whyNoObject(value: unknown): string | undefined {
  const reason = whyNoMetadata(value);
  if (reason !== undefined) return reason;
  const { name } = (value as { readonly metadata: Readonly<Record<string, unknown>> }).metadata;
  return typeof name === "string" ? undefined : ".metadata.name is missing";
}

function whyNoMetadata(value: unknown): string | undefined {
  if (!isRecord(value)) return " is no object";
  const { metadata } = value;
  if (!isRecord(metadata)) return ".metadata is no object";
  const { name, namespace, uid, resourceVersion } = metadata;
  for (const [field, text] of Object.entries({ name, namespace, uid, resourceVersion }))
    if (!isTextOrAbsent(text)) return `.metadata.${field} is no text`;
  return undefined;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isTextOrAbsent(value: unknown): boolean {
  return value === undefined || typeof value === "string";
}
