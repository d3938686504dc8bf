/** Which policies hold for a proxy: by selectors, or by `targetRefs` that name the Gateway of the Gateway API it was deployed for. */
import type { Config } from "@flotilla/model";
import type { View } from "../view.ts";

interface TargetReference {
  readonly group: string;
  readonly kind: string;
  readonly name: string;
}

interface TargetingSpec {
  readonly selector?: { readonly matchLabels: Readonly<Record<string, string>> } | undefined;
  readonly targetRef?: TargetReference | undefined;
  readonly targetRefs: readonly TargetReference[];
}

const gatewayNameLabel = "gateway.networking.k8s.io/gateway-name";

/** Those that hold for the proxy, in the order given. One with neither selector nor targets holds for all. */
export function attachedPolicies<Spec extends TargetingSpec>(
  view: View,
  policies: readonly Config<Spec>[],
): readonly Config<Spec>[] {
  const general = policies.filter(({ spec }) => targetsOf(spec).length === 0);
  const selecting = new Set(view.proxy.selecting(general, ({ spec }) => spec.selector?.matchLabels ?? {}));
  return policies.filter((policy) => selecting.has(policy) || namesGateway(view, policy));
}

/** Whether one of the targets is the proxy's Gateway, which is of the policy's own namespace. */
export function namesGateway(view: View, { key, spec }: Config<TargetingSpec>): boolean {
  const gateways = targetsOf(spec).filter(
    ({ group, kind }) => group === "gateway.networking.k8s.io" && kind === "Gateway",
  );
  if (gateways.length === 0 || key.namespace !== view.proxy.namespace) return false;
  const own = view.proxy.label(gatewayNameLabel);
  return gateways.some(({ name }) => name === own);
}

function targetsOf({ targetRef, targetRefs }: TargetingSpec): readonly TargetReference[] {
  return targetRef === undefined ? targetRefs : [targetRef, ...targetRefs];
}
