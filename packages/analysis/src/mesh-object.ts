/** An object as analysis sees it: as it was written, with nothing decoded, so that findings can name its fields. */
import { kindOf } from "@flotilla/kinds";
import {
  applyMeshConfig,
  type ConfigKey,
  defaultMeshConfig,
  isObject,
  type JsonObject,
  type Labels,
} from "@flotilla/model";
import { type Field, field } from "@flotilla/validation/field";

export interface MeshObject {
  readonly key: ConfigKey;
  readonly labels: Labels;
  readonly annotations: Labels;
  readonly whole: Field;
  readonly spec: Field;
}

/** Undefined for what is no object of a known kind with a name. */
export function meshObject(value: unknown): MeshObject | undefined {
  if (!isObject(value)) return undefined;
  const { apiVersion, kind, metadata } = value;
  if (typeof apiVersion !== "string" || typeof kind !== "string" || !isObject(metadata)) return undefined;
  const known = kindOf({ apiVersion, kind });
  const { name, namespace } = metadata;
  if (known === undefined || typeof name !== "string") return undefined;
  const whole: Field = { value, path: "" };
  return {
    key: { kind: known.name, namespace: known.namespaced && typeof namespace === "string" ? namespace : "", name },
    labels: textsOf(metadata["labels"]),
    annotations: textsOf(metadata["annotations"]),
    whole,
    spec: field(whole, "spec"),
  };
}

/** The settings of the mesh, as the ConfigMap `istio` has them under `mesh` and `meshNetworks`. */
export type MeshSettings = { readonly kind: "MeshConfig" | "MeshNetworks"; readonly document: JsonObject };

/** MeshConfig over its defaults, or MeshNetworks, as an object of the namespace of its ConfigMap. */
export function meshSettings({ kind, document }: MeshSettings, namespace: string): MeshObject {
  const spec = kind === "MeshConfig" ? applyMeshConfig(defaultMeshConfig, document) : document;
  const whole: Field = { value: { kind, spec }, path: "" };
  const name = kind === "MeshConfig" ? "istio" : "meshnetworks";
  return { key: { kind, namespace, name }, labels: {}, annotations: {}, whole, spec: field(whole, "spec") };
}

/** A Service of another cluster, under a kind of its own; undefined for what is no Service. */
export function remoteService(cluster: string, value: unknown): MeshObject | undefined {
  const object = meshObject(value);
  if (object?.key.kind !== "Service") return undefined;
  const { namespace, name } = object.key;
  return { ...object, key: { kind: "RemoteService", namespace, name: `${name}${atCluster}${cluster}` } };
}

/** No name of an object has this character. */
const atCluster = "@";

/** Undefined for a Service of the own cluster. */
export function clusterOfService({ key: { kind, name } }: MeshObject): string | undefined {
  return kind === "RemoteService" ? name.slice(name.indexOf(atCluster) + 1) : undefined;
}

/** The key of the Service in its cluster. */
export function serviceKeyOf({ key }: MeshObject): ConfigKey {
  if (key.kind !== "RemoteService") return key;
  return { ...key, kind: "Service", name: key.name.slice(0, key.name.indexOf(atCluster)) };
}

/** `VirtualService shop/reviews`; without a namespace where there is none. */
export function objectTitle({ kind, namespace, name }: ConfigKey): string {
  return `${kind} ${fullName({ namespace, name })}`;
}

export function fullName({ namespace, name }: Pick<ConfigKey, "namespace" | "name">): string {
  return namespace === "" ? name : `${namespace}/${name}`;
}

/** `NAME` of the namespace, or `NAMESPACE/NAME`. */
export function nameIn(namespace: string, text: string): Pick<ConfigKey, "namespace" | "name"> {
  const slash = text.indexOf("/");
  return slash === -1 ? { namespace, name: text } : { namespace: text.slice(0, slash), name: text.slice(slash + 1) };
}

/** Labels and annotations that are no texts are left to the check of the schema. */
function textsOf(value: unknown): Labels {
  if (!isObject(value)) return {};
  const given = Object.entries(value);
  return given.every(([, text]) => typeof text === "string")
    ? (value as Labels)
    : Object.fromEntries(given.filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}

/** Namespaces of Kubernetes itself, which belong to no user. */
export function isSystemNamespace(name: string): boolean {
  return (
    name === "kube-system" || name === "kube-public" || name === "kube-node-lease" || name === "local-path-storage"
  );
}
