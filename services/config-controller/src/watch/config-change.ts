/** An object that was read as a change of configuration, for the revision that this mesh is. */
import { isIstioKind, kindNamed } from "@flotilla/kinds";
import type { Config, ConfigChange, KubeObject, Provenance } from "@flotilla/model";
import { configOf } from "@flotilla/registry/config";

/** Nothing for kinds that are no configuration; a delete for what is meant for another revision. */
export function configPut(
  object: KubeObject,
  provenance: Provenance | undefined,
  revision: string,
): ConfigChange | undefined {
  const value = configOf(object, provenance);
  return value && configChangeOf(value, revision);
}

/** A delete for what is meant for another revision: one that moves there is gone from here. */
export function configChangeOf(value: Config, revision: string): ConfigChange {
  if (isOfOtherRevision(value, revision)) return { type: "config", op: "delete", key: value.key };
  return { type: "config", op: "put", key: value.key, value };
}

function isOfOtherRevision({ key, labels }: Config, revision: string): boolean {
  const wanted = labels["istio.io/rev"];
  return wanted !== undefined && wanted !== revision && isIstioKindNamed(key.kind);
}

/** On Namespaces, Secrets and the like the label says who injects, not who reads. */
function isIstioKindNamed(name: string): boolean {
  const kind = kindNamed(name);
  return kind !== undefined && (isIstioKind(kind) || kind.group === "gateway.networking.k8s.io");
}
