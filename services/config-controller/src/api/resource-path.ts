/** The resource that a path of the Kubernetes API names. */
import type { Kind } from "@flotilla/kinds";
import { configSchemas } from "../store/config-schemas.ts";

export interface ResourcePath {
  readonly kind: Kind;
  /** With its group: the apiVersion that objects declare. */
  readonly apiVersion: string;
  /** "" for all namespaces, and for kinds without. */
  readonly namespace: string;
  /** Undefined: the whole collection. */
  readonly name: string | undefined;
  readonly isStatus: boolean;
}

/** `/api/v1/…`, `/apis/GROUP/VERSION/…`; undefined for paths that name no resource that is served. */
export function parseResourcePath(path: string): ResourcePath | undefined {
  const parts = path.split("/").slice(1).map(decode);
  if (parts.some((part) => part === undefined || part === "")) return undefined;
  const [root, ...rest] = parts as string[];
  const group = root === "api" ? "" : root === "apis" ? rest.shift() : undefined;
  const version = rest.shift();
  if (group === undefined || version === undefined) return undefined;
  const isNamespaced = rest[0] === "namespaces" && rest.length > 2;
  const namespace = isNamespaced ? (rest[1] ?? "") : "";
  const [plural, name, subresource, ...more] = isNamespaced ? rest.slice(2) : rest;
  const kind = configSchemas.find(
    (one) => one.group === group && one.plural === plural && one.versions.includes(version),
  );
  if (kind === undefined || more.length > 0 || (subresource !== undefined && subresource !== "status"))
    return undefined;
  if (isNamespaced !== kind.namespaced && (isNamespaced || name !== undefined)) return undefined;
  const apiVersion = group === "" ? version : `${group}/${version}`;
  return { kind, apiVersion, namespace, name, isStatus: subresource !== undefined };
}

function decode(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    // A broken escape names nothing.
    return undefined;
  }
}
