/** An object in the shape of the Kubernetes API, as a file or an API server hands it out. */
import { type ObjectName, objectName } from "../names/object-name.ts";
import type { ConfigKey } from "./config.ts";

export interface KubeMetadata {
  readonly name: string;
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly generateName?: string;
  readonly generation?: number;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly resourceVersion?: string;
  readonly uid?: string;
}

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly controller?: boolean;
  readonly uid?: string;
}

export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: KubeMetadata;
  readonly [field: string]: unknown;
}

/** `discovery.k8s.io` of `discovery.k8s.io/v1`; "" for the core group. */
export function apiGroup(apiVersion: string): string {
  const slash = apiVersion.indexOf("/");
  return slash === -1 ? "" : apiVersion.slice(0, slash);
}

/** The key under which an object is stored when its kind is called `kind`. */
export function objectKey(object: KubeObject, kind: string = object.kind): ConfigKey {
  return { kind, namespace: object.metadata.namespace ?? "", name: object.metadata.name };
}

/** The object's name among those of its kind. */
export function objectNameOf({ metadata: { namespace = "", name } }: KubeObject): ObjectName {
  return objectName.write({ namespace, name });
}

/** Milliseconds since the epoch; 0 when the object carries no creation time. */
export function creationTimeMs({ metadata }: KubeObject): number {
  const time = metadata.creationTimestamp === undefined ? Number.NaN : Date.parse(metadata.creationTimestamp);
  return Number.isNaN(time) ? 0 : time;
}

/** Null stands for absent in the Kubernetes API. The object itself where it has none. */
export function withoutNulls<Value>(value: Value): Value {
  // Almost no object has one, and each event of a watch comes here: they are looked for before anything is copied.
  return containsNull(value) ? copyWithoutNulls(value) : value;
}

export function containsNull(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return value === null;
  if (Array.isArray(value)) return value.some(containsNull);
  const record = value as Readonly<Record<string, unknown>>;
  for (const name in record) if (containsNull(record[name])) return true;
  return false;
}

function copyWithoutNulls<Value>(value: Value): Value {
  if (Array.isArray(value)) return value.filter((item) => item !== null).map(withoutNulls) as Value;
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([, item]) => item !== null);
  return Object.fromEntries(kept.map(([name, item]) => [name, withoutNulls(item)])) as Value;
}
