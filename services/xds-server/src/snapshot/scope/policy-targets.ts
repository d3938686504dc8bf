/**
 * Selects the policies that hold for a proxy: by selectors, or by `targetRefs` that name the Gateway of the Gateway API it was deployed
 * for. A waypoint has policies of its own Gateway and its class, and those of each service behind it.
 */
import type { KubernetesGatewaySpec } from "@flotilla/gateway-api";
import type { Config, Service } from "@flotilla/model";
import { type RowIndex, type ServiceText, serviceText } from "../row-index.ts";
import type { View } from "../view.ts";
import { serviceIn } from "./services.ts";

/** Whose policies are looked up: a service behind the waypoint, or "" for the proxy itself. */
export type PolicySubject = ServiceText | "";

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

export const gatewayNameLabel = "gateway.networking.k8s.io/gateway-name";

/** Those that hold for the proxy, in the order given. One with neither selector nor targets holds for all. */
export function attachedPolicies<Spec extends TargetingSpec>(
  view: View,
  policies: readonly Config<Spec>[],
): readonly Config<Spec>[] {
  const general = takesSelectors(view) ? policies.filter(({ spec }) => targetsOf(spec).length === 0) : [];
  const selecting = new Set(view.proxy.selecting(general, ({ spec }) => spec.selector?.matchLabels ?? {}));
  return policies.filter((policy) => selecting.has(policy) || namesGateway(view, policy));
}

/** False for gateways of the Gateway API where ENABLE_SELECTOR_BASED_K8S_GATEWAY_POLICY is off. */
function takesSelectors(view: View): boolean {
  return view.proxy.label(gatewayNameLabel) === undefined || view.feature("selectorsOfKubernetesGateways");
}

/** True where one of the targets is the proxy's Gateway, which is of the policy's own namespace. */
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

/** Policies of a kind that hold for a proxy or, in a waypoint, for a service behind it; of the root namespace first. */
export function policiesOf<Spec extends TargetingSpec>(
  view: View,
  index: RowIndex<Spec>,
  subject: PolicySubject,
): readonly Config<Spec>[] {
  const { proxy, mesh } = view;
  const own = [mesh.rootNamespace, proxy.namespace];
  if (proxy.type !== "waypoint") return attachedPolicies(view, inNamespaces(view, index, own));
  const service = subjectService(view, subject);
  const all = inNamespaces(view, index, service === undefined ? own : [...own, service.namespace]);
  return all.filter((policy) => isForWaypoint(view, policy, service));
}

function inNamespaces<Spec>(view: View, index: RowIndex<Spec>, namespaces: readonly string[]) {
  return [...new Set(namespaces)].flatMap((namespace) => view.row(index, namespace));
}

export function subjectService(view: View, subject: PolicySubject): Service | undefined {
  if (subject === "") return undefined;
  const { namespace, hostname } = serviceText.read(subject);
  return serviceIn(view, namespace, hostname);
}

/** By its targets alone: selectors and whole namespaces are for the ztunnels before the workloads. */
export function isForWaypoint(view: View, policy: Config<TargetingSpec>, service?: Service): boolean {
  return (
    namesGateway(view, policy) ||
    namesGatewayClass(view, policy) ||
    (service !== undefined && namesService(policy, service))
  );
}

/** Classes are the mesh's: policies for them stand in the root namespace. */
function namesGatewayClass(view: View, { key, spec }: Config<TargetingSpec>): boolean {
  const classes = targetsOf(spec).filter(
    ({ group, kind }) => group === "gateway.networking.k8s.io" && kind === "GatewayClass",
  );
  if (classes.length === 0 || key.namespace !== view.mesh.rootNamespace) return false;
  const { namespace } = view.proxy;
  const gateway = view.proxy.label(gatewayNameLabel) ?? "";
  const own = view.config<KubernetesGatewaySpec>("KubernetesGateway", namespace, gateway)?.spec.gatewayClassName;
  return classes.some(({ name }) => name === own);
}

export function namesService({ key, spec }: Config<TargetingSpec>, { namespace, registry, name }: Service): boolean {
  if (key.namespace !== namespace) return false;
  const isEntry = registry === "External";
  return targetsOf(spec).some((target) =>
    isEntry
      ? target.group === "networking.istio.io" && target.kind === "ServiceEntry" && target.name === name
      : (target.group === "" || target.group === "core") && target.kind === "Service" && target.name === name,
  );
}
