/** The kinds of objects that the mesh supports, found by the fields of a manifest or by the name used within the mesh. */
import { istioKinds } from "./gen/istio-kinds.ts";
import type { Kind } from "./kind.ts";
import { isReadKind } from "./kind-uses.ts";
import { kubernetesKinds } from "./kubernetes-kinds.ts";

export type { Kind } from "./kind.ts";
export { mcpTypeUrls } from "./kind.ts";
export { isKindReadBy, isReadKind, type KindReadBy, kindUses, noEffectReason, type UsedObject } from "./kind-uses.ts";

/** Istio's kinds first, then those of Kubernetes and the Gateway API. */
export const kinds: readonly Kind[] = [...istioKinds, ...kubernetesKinds];

const byGroupAndKind: ReadonlyMap<string, Kind> = new Map(kinds.map((row) => [`${row.group}/${row.kind}`, row]));
const byName: ReadonlyMap<string, Kind> = new Map(kinds.map((row) => [row.name, row]));

/** The version does not count: all served ones mean the same kind. */
export function kindOf({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }): Kind | undefined {
  const slash = apiVersion.indexOf("/");
  return byGroupAndKind.get(`${slash === -1 ? "" : apiVersion.slice(0, slash)}/${kind}`);
}

/** `name` is the unambiguous one: `KubernetesGateway`, not `Gateway`, for the Gateway API's. */
export function kindNamed(name: string): Kind | undefined {
  return byName.get(name);
}

/** The `apiVersion` that objects of the kind are written with: `networking.istio.io/v1`. */
export function apiVersionOf({ group, storageVersion }: Kind): string {
  return group === "" ? storageVersion : `${group}/${storageVersion}`;
}

/** Is the kind one of Istio's own, defined by the CRDs that this package ships? */
export function isIstioKind({ message }: Kind): boolean {
  return message !== undefined;
}

const knownGroups: ReadonlySet<string> = new Set(kinds.map(({ group }) => group));

/**
 * Is the kind of no concern to the mesh, such as a Deployment? Kinds of a group that has known ones are misspelt rather than
 * foreign if they are unknown.
 */
export function isForeignKind({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }): boolean {
  const row = kindOf({ apiVersion, kind });
  if (row !== undefined)
    return !isIstioKind(row) && !row.group.startsWith("gateway.networking.") && !isReadKind(row.name);
  const slash = apiVersion.indexOf("/");
  return !knownGroups.has(slash === -1 ? "" : apiVersion.slice(0, slash));
}
