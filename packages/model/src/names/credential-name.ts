/** Names of SDS resources that are Secrets or ConfigMaps, and the fields of objects that refer to these. */
import { maxNamespaceLength, problemOfName } from "./object-name.ts";

export interface CredentialName {
  /** `kubernetes`: of the caller's namespace. `kubernetes-gateway`: where a gateway refers to it. `configmap`: roots only. */
  readonly scheme: "kubernetes" | "kubernetes-gateway" | "configmap";
  readonly kind: "Secret" | "ConfigMap";
  /** Empty when the name has none, which is the caller's then. */
  readonly namespace: string;
  /** Of the object, as the resource has it: with `-cacert`, if it ends so. */
  readonly object: string;
  /** Roots (and revocations) are asked for, not a key pair. */
  readonly isRoot: boolean;
}

const rootSuffix = "-cacert";
const schemes = /^(kubernetes|kubernetes-gateway|configmap):\/\//;
const form = /^(kubernetes|kubernetes-gateway|configmap):\/\/(?:([^/]*)\/)?([^/]*)$/;

/** `kubernetes://[NAMESPACE/]NAME`, `kubernetes-gateway://NAMESPACE/NAME`, `configmap://NAMESPACE/NAME`; undefined for any other text. */
export function parseCredentialName(resource: string): CredentialName | undefined {
  const [, scheme, namespace, object = ""] = form.exec(resource) ?? [];
  if (problemOfName(object) !== undefined) return undefined;
  if (namespace !== undefined && problemOfName(namespace, maxNamespaceLength) !== undefined) return undefined;
  const isRoot = object.endsWith(rootSuffix);
  if (scheme === "kubernetes") return { scheme, kind: "Secret", namespace: namespace ?? "", object, isRoot };
  if (namespace === undefined) return undefined;
  if (scheme === "kubernetes-gateway") return { scheme, kind: "Secret", namespace, object, isRoot };
  return { scheme: "configmap", kind: "ConfigMap", namespace, object, isRoot: true };
}

const externalScheme = "sds://";

/** The name of a secret at an SDS server outside of the control plane; undefined where another one is meant. */
export function externalSecretName(credentialName: string): string | undefined {
  return credentialName.startsWith(externalScheme) ? credentialName.slice(externalScheme.length) : undefined;
}

/** The name of the SDS resource for a `credentialName`: one without a scheme is a Secret, as is one of an SDS server that there is none of. */
export function secretName(credentialName: string): string {
  const external = externalSecretName(credentialName);
  if (external !== undefined) return secretName(external);
  if (credentialName.startsWith("builtin://")) return "default";
  if (credentialName.startsWith("invalid://")) return "invalid://";
  return schemes.test(credentialName) ? credentialName : `kubernetes://${credentialName}`;
}

/** The name without `-cacert`, which the Secret of the key pair has. */
export function withoutRootSuffix(name: string): string {
  return name.endsWith(rootSuffix) ? name.slice(0, -rootSuffix.length) : name;
}

/** The names of objects that may be meant by the name of a key pair's: its roots may be in one of their own. */
export function withRootsName(name: string): readonly [string, string] {
  return [name, `${name}${rootSuffix}`];
}

/** True where the value of a Secret's field is base64, as an API server requires; other sources may have anything there. */
export function isBase64(value: unknown): value is string {
  return typeof value === "string" && value.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(value);
}

/** An object that a field refers to. */
export interface CredentialReference {
  readonly kind: "Secret" | "ConfigMap";
  /** Undefined: that of the proxy that asks, which the field does not name. */
  readonly namespace: string | undefined;
  readonly name: string;
  /** Looked up in the cluster of the proxy that asks, before the own one; others are of the own cluster alone. */
  readonly isOfProxy: boolean;
}

/** Of the own cluster, as is what the Gateway API refers to. */
const ingressField = "secretName";
/** Fields of Gateways, DestinationRules, Ingresses, WasmPlugins. */
const nameFields: ReadonlySet<string> = new Set([
  ...["credentialName", "credentialNames", "caCertCredentialName", ingressField, "imagePullSecret"],
]);
/** Fields of the Gateway API, whose namespace is the object's own unless they name one. */
const objectFields: ReadonlySet<string> = new Set([
  ...["certificateRefs", "caCertificateRefs", "clientCertificateRef"],
]);

/** Secrets and ConfigMaps that an object refers to, by fields of these names or by texts that are SDS names (EnvoyFilters have such). */
export function credentialReferences(namespace: string, spec: unknown): readonly CredentialReference[] {
  const found: CredentialReference[] = [];
  const visit = (value: unknown, field: string): void => {
    if (typeof value === "string") {
      const reference = referenceOf(value, field);
      if (reference !== undefined) found.push(reference);
    } else if (Array.isArray(value)) for (const item of value) visit(item, field);
    else if (typeof value === "object" && value !== null) {
      if (objectFields.has(field)) found.push(...objectReference(namespace, value));
      for (const [name, inner] of Object.entries(value)) visit(inner, name);
    }
  };
  visit(spec, "");
  return found;
}

function referenceOf(text: string, field: string): CredentialReference | undefined {
  const parsed = parseCredentialName(text);
  if (parsed !== undefined) {
    const { kind, scheme, object } = parsed;
    const isOfProxy = scheme === "kubernetes";
    return { kind, namespace: parsed.namespace || undefined, name: withoutRootSuffix(object), isOfProxy };
  }
  if (!nameFields.has(field) || problemOfName(text) !== undefined) return undefined;
  return { kind: "Secret", namespace: undefined, name: withoutRootSuffix(text), isOfProxy: field !== ingressField };
}

function objectReference(own: string, value: object): readonly CredentialReference[] {
  const { kind = "Secret", namespace = own, name } = value as { kind?: unknown; namespace?: unknown; name?: unknown };
  if ((kind !== "Secret" && kind !== "ConfigMap") || typeof namespace !== "string" || typeof name !== "string")
    return [];
  return [{ kind, namespace, name, isOfProxy: false }];
}
