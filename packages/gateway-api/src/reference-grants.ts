/** ReferenceGrants: which objects of another namespace may be referred to. */
import type { Config } from "@flotilla/model";
import type { Problem } from "./conditions.ts";
import { gatewayGroup, type ReferenceGrantSpec } from "./gateway-spec.ts";

export interface Reference {
  readonly from: { readonly kind: string; readonly namespace: string };
  readonly to: { readonly group: string; readonly kind: string; readonly namespace: string; readonly name: string };
}

/** `grantsIn` gives the ReferenceGrants of a namespace; references within one namespace need none. */
export function isGranted(
  { from, to }: Reference,
  grantsIn: (namespace: string) => readonly Config<ReferenceGrantSpec>[],
): boolean {
  if (from.namespace === to.namespace) return true;
  return grantsIn(to.namespace).some(
    ({ spec }) =>
      spec.from?.some(
        ({ group, kind, namespace }) => group === gatewayGroup && kind === from.kind && namespace === from.namespace,
      ) === true &&
      spec.to?.some(
        ({ group = "", kind, name }) =>
          group === to.group && kind === to.kind && (name === undefined || name === "" || name === to.name),
      ) === true,
  );
}

/** `what` names the reference, `asKind` the kind of the referring object. */
export function notGranted(what: string, { from }: Reference, asKind = from.kind): Problem {
  const message = `${what} not accessible to a ${asKind} in namespace "${from.namespace}" (missing a ReferenceGrant?)`;
  return { reason: "RefNotPermitted", message };
}
