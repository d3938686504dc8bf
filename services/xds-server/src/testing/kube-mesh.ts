/** Builders for tests that begin with objects in Kubernetes' shape and look at one field of one resource of a proxy. */
import type { JsonObject as Fields, KubeObject } from "@flotilla/model";
import type { JsonObject, JsonValue } from "@flotilla/proto";
import { createMesh } from "@flotilla/registry";
import { Core } from "../app/core.ts";
import { parseFeatures } from "../snapshot/features.ts";

const versions: Readonly<Record<string, string>> = {
  Service: "v1",
  Pod: "v1",
  Namespace: "v1",
  Node: "v1",
  ConfigMap: "v1",
  Secret: "v1",
  EndpointSlice: "discovery.k8s.io/v1",
  AuthorizationPolicy: "security.istio.io/v1",
  PeerAuthentication: "security.istio.io/v1",
  RequestAuthentication: "security.istio.io/v1",
  Telemetry: "telemetry.istio.io/v1",
};

/** An object of a kind; `path` is `namespace/name`. Kinds of Istio's networking group unless they are known as others. */
export function anObject(kind: string, path: string, content: Fields): KubeObject {
  const [namespace = "", name = ""] = path.split("/");
  const apiVersion = versions[kind] ?? "networking.istio.io/v1";
  const hasSpec = !["EndpointSlice", "ConfigMap", "Secret"].includes(kind) && content["spec"] === undefined;
  const { metadata, ...rest } = content as { readonly metadata?: Fields };
  return {
    apiVersion,
    kind,
    metadata: { name, namespace, creationTimestamp: "2026-01-01T00:00:00Z", ...metadata },
    ...(hasSpec ? { spec: rest } : rest),
  } as KubeObject;
}

export interface KubeMeshOptions {
  readonly mesh?: Fields;
  readonly networks?: Fields;
  /** The control plane's settings by Istio's names. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A core that holds the objects. @throws when one is refused. */
export function aKubeMesh(
  objects: readonly KubeObject[],
  { mesh = {}, networks = {}, env = {} }: KubeMeshOptions = {},
): Core {
  const core = new Core({ features: parseFeatures(env) });
  const [refusal] = core.apply(createMesh(env).apply({ put: objects, mesh, networks: { networks } }));
  if (refusal !== undefined) throw refusal.error;
  return core;
}

/** A ServiceEntry of the mesh with static endpoints, as a service `NAME.shop.example` with the port `http` 80. */
export function anEntry(name: string, more: Fields = {}): KubeObject {
  return anObject("ServiceEntry", `shop/${name}`, {
    hosts: [`${name}.shop.example`],
    addresses: ["10.9.0.1"],
    ports: [{ number: 80, name: "http", protocol: "HTTP" }],
    location: "MESH_INTERNAL",
    resolution: "STATIC",
    endpoints: [{ address: "10.0.0.2" }],
    ...more,
  });
}

/** The field at a path such as `virtualHosts.0.routes.0.match`; undefined where there is none. */
export function fieldAt(resource: JsonObject | undefined, path: string): JsonValue | undefined {
  let value: JsonValue | undefined = resource;
  for (const key of path === "" ? [] : path.split(".")) {
    if (typeof value !== "object" || value === null) return undefined;
    value = (value as Readonly<Record<string, JsonValue>>)[key];
  }
  return value;
}

/** A value on one line, as it would stand in YAML; of the type of a packed message the last part of its name. */
export function inShort(value: JsonValue | undefined): string {
  if (value === undefined) return "none";
  if (Array.isArray(value)) return `[${value.map(inShort).join(", ")}]`;
  if (typeof value !== "object" || value === null) return String(value);
  const fields = Object.entries(value).map(([key, field]) =>
    key === "@type" ? String(field).replace(/^.*\./, "") : `${key}: ${inShort(field)}`,
  );
  return `{${fields.join(", ")}}`;
}
