/** Objects of the Kubernetes API, MeshConfig and MeshNetworks as configuration. */

import { isIstioKind, kindOf } from "@flotilla/kinds";
import {
  applyMeshConfig,
  type Config,
  type ConfigKey,
  creationTimeMs,
  defaultMeshConfig,
  type JsonObject,
  type KubeObject,
  objectKey,
  type Provenance,
  withoutNulls,
} from "@flotilla/model";

/** @param object as of `withoutNullFields`. Undefined for kinds that are no configuration. */
export function configOf(object: KubeObject, provenance?: Provenance): Config | undefined {
  const kind = configKind(object.apiVersion, object.kind);
  if (kind === undefined) return undefined;
  const { labels = {}, annotations = {}, resourceVersion, generation } = object.metadata;
  return {
    key: objectKey(object, kind),
    labels,
    annotations,
    creationTimeMs: creationTimeMs(object),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
    ...(generation === undefined ? {} : { generation }),
    spec: specOf(object),
    ...(object["status"] === undefined ? {} : { status: object["status"] }),
    ...(provenance === undefined ? {} : { provenance }),
  };
}

/** Kinds without a spec have their fields at the top. */
function specOf(object: KubeObject): unknown {
  switch (object.kind) {
    case "Secret":
      return { ...(object["type"] === undefined ? {} : { type: object["type"] }), data: secretData(object) };
    case "ConfigMap":
      return {
        data: object["data"] ?? {},
        ...(object["binaryData"] === undefined ? {} : { binaryData: object["binaryData"] }),
      };
    default:
      return object["spec"] ?? {};
  }
}

/** Kinds with fields of any JSON, where a null is a value. */
const kindsWithNulls: ReadonlySet<string> = new Set(["EnvoyFilter", "TrafficExtension", "WasmPlugin"]);

/** As an API server stores it: a field of the spec that is null is an absent one. The object itself where there are none. */
export function withoutNullFields<Fields extends { readonly [name: string]: unknown }>(
  kind: string,
  object: Fields,
): Fields {
  const spec = kindsWithNulls.has(kind) ? undefined : object["spec"];
  const present = withoutNulls(spec);
  return present === spec ? object : { ...object, spec: present };
}

/** `stringData` is what the API server would have encoded and merged into `data`. */
function secretData(object: KubeObject): Readonly<Record<string, string>> {
  const data = (object["data"] ?? {}) as Readonly<Record<string, string>>;
  const plain = Object.entries((object["stringData"] ?? {}) as Readonly<Record<string, string>>);
  return { ...data, ...Object.fromEntries(plain.map(([key, text]) => [key, base64(text)])) };
}

function base64(text: string): string {
  const bytes = new TextEncoder().encode(text);
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

/** Groups all of whose kinds are. */
const configGroups: ReadonlySet<string> = new Set([
  "gateway.networking.k8s.io",
  "gateway.networking.x-k8s.io",
  "inference.networking.k8s.io",
  "multicluster.x-k8s.io",
]);

/** Kubernetes' own that configuration refers to or is written in. */
const configKinds: ReadonlySet<string> = new Set([
  "Namespace",
  "Secret",
  "ConfigMap",
  "ServiceAccount",
  "Ingress",
  "IngressClass",
]);

/**
 * Kinds of configuration that config-controller publishes. Returns the mesh's name of the kind; undefined for kinds that are no
 * configuration.
 */
export function configKind(apiVersion: string, kind: string): string | undefined {
  const row = kindOf({ apiVersion, kind });
  if (row === undefined) return undefined;
  return isIstioKind(row) || configGroups.has(row.group) || configKinds.has(row.name) ? row.name : undefined;
}

/** MeshConfig and MeshNetworks as configuration objects with well-known keys. */
export const meshConfigKey: ConfigKey = { kind: "MeshConfig", namespace: "", name: "mesh" };
/** The key under which the mesh's MeshNetworks is published. */
export const meshNetworksKey: ConfigKey = { kind: "MeshNetworks", namespace: "", name: "mesh" };

/** The documents over the defaults, the weakest first; none: the defaults alone. */
export function meshConfigOf(...documents: readonly (JsonObject | undefined)[]): Config<JsonObject> {
  const present = documents.filter((document) => document !== undefined);
  // Once over the defaults even without a document: sets are sorted.
  return meshObject(meshConfigKey, [{}, ...present].reduce(applyMeshConfig, defaultMeshConfig));
}

/** The last document that has networks; without one there are none. */
export function meshNetworksOf(...documents: readonly (JsonObject | undefined)[]): Config<JsonObject> {
  const last = documents.findLast((document) => document?.["networks"] !== undefined);
  return meshObject(meshNetworksKey, { networks: withoutNulls(last?.["networks"] ?? {}) });
}

function meshObject(key: ConfigKey, spec: JsonObject): Config<JsonObject> {
  return { key, labels: {}, annotations: {}, creationTimeMs: 0, spec };
}
