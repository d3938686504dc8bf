/** Status of BackendTLSPolicies and XBackendTrafficPolicies: one entry for each target, and one for each Gateway that reaches it. */
import type { Config } from "@flotilla/model";
import {
  type BackendTarget,
  type BackendTlsSpec,
  beatingPolicy,
  ignoredAnnotation,
  isIgnoredPolicy,
  type TargetRef,
  targetKind,
} from "./backend-tls.ts";
import type { BackendTrafficSpec } from "./backend-traffic.ts";
import { type Condition, condition, gatewayController, meshController, type Problem } from "./conditions.ts";
import { gatewayGroup } from "./gateway-spec.ts";

export interface AncestorStatus {
  readonly ancestorRef: TargetRef;
  readonly controllerName: string;
  readonly conditions: readonly Condition[];
}

export interface PolicyLookups {
  readonly targetOf: (kind: "Service" | "ServiceEntry", namespace: string, name: string) => BackendTarget | undefined;
  /** Why the roots that the policy names cannot be used. */
  readonly rootsProblem: (ref: { kind: string; namespace: string; name: string }) => string | undefined;
  readonly hasObject: (kind: string, namespace: string, name: string) => boolean;
  /** Names of the Gateways with a route to a Service. */
  readonly gatewaysOf: (kind: "Service" | "ServiceEntry", namespace: string, name: string) => readonly string[];
}

const valid = "Configuration is valid";

/** Of a policy that users keep from having an effect. */
function ignoredStatus({ targetRefs = [] }: { readonly targetRefs?: readonly TargetRef[] }): readonly AncestorStatus[] {
  const message = `Ignored by Istio due to annotation ${ignoredAnnotation}=true`;
  const ignored = { reason: "IgnoredByIstio", message };
  const conditions = [condition("Accepted", { reason: "Accepted", message: valid }, ignored)];
  return targetRefs.map((ref) => ({ ancestorRef: ref, controllerName: meshController, conditions }));
}

export function backendTlsStatus(
  policy: Config<BackendTlsSpec>,
  all: readonly Config<BackendTlsSpec>[],
  lookups: PolicyLookups,
): readonly AncestorStatus[] {
  if (isIgnoredPolicy(policy)) return ignoredStatus(policy.spec);
  const roots = rootsFinding(policy, lookups);
  const { wellKnownCACertificates, caCertificateRefs = [] } = policy.spec.validation ?? {};
  const isCut = wellKnownCACertificates === undefined && caCertificateRefs.length > 1;
  const accepted = isCut ? `${valid}; warning: only the first caCertificateRefs will be used` : valid;
  const judged = (policy.spec.targetRefs ?? []).map((ref) => {
    const kind = targetKind(ref);
    const beaten = kind && beatingPolicy(policy, ref, all);
    const conflict = beaten && {
      reason: "Conflicted",
      message: `Conflicts with BackendTLSPolicy "${beaten.key.name}" targeting the same backend`,
    };
    const problem = conflict ?? targetProblem(ref, policy.key.namespace, lookups) ?? roots?.accepted;
    const conditions = [
      condition("Accepted", { reason: "Accepted", message: accepted }, problem),
      condition("ResolvedRefs", { reason: "ResolvedRefs", message: valid }, roots?.resolvedRefs),
    ];
    return { ref, kind, problem, conditions };
  });
  const targets = judged.map(({ ref, conditions }) => ({
    ancestorRef: ref,
    controllerName: meshController,
    conditions,
  }));
  const byGateway = new Map<string, (typeof judged)[number]>();
  for (const one of judged) {
    const { namespace } = policy.key;
    const gateways = one.kind === undefined ? [] : lookups.gatewaysOf(one.kind, namespace, one.ref.name ?? "");
    for (const gateway of gateways)
      if (one.problem !== undefined || !byGateway.has(gateway)) byGateway.set(gateway, one);
  }
  const gateways = [...byGateway].sort().map(([name, { conditions }]) => ({
    ancestorRef: { group: gatewayGroup, kind: "Gateway", name },
    controllerName: gatewayController,
    conditions,
  }));
  return [...targets, ...gateways];
}

function targetProblem(
  ref: TargetRef,
  namespace: string,
  { targetOf }: Pick<PolicyLookups, "targetOf">,
): Problem | undefined {
  const { kind: kindText = "", name = "", sectionName = "" } = ref;
  const notFound = (why: string): Problem => ({ reason: "TargetNotFound", message: `targetRefs invalid: ${why}` });
  const kind = targetKind(ref);
  if (kind === undefined) return notFound(`unsupported kind ${kindText}`);
  const target = targetOf(kind, namespace, name);
  if (target === undefined) return notFound(`reference ${namespace}/${name} (of kind ${kind}) not found`);
  if (sectionName === "" || target.ports.some((port) => port.name === sectionName)) return undefined;
  return notFound(`sectionName "${sectionName}" does not exist in ${kind} ${namespace}/${name}`);
}

interface RootsFinding {
  readonly accepted: Problem;
  readonly resolvedRefs: Problem;
}

function rootsFinding({ key, spec }: Config<BackendTlsSpec>, lookups: PolicyLookups): RootsFinding | undefined {
  const { wellKnownCACertificates, caCertificateRefs: [ref] = [] } = spec.validation ?? {};
  if (wellKnownCACertificates !== undefined || ref === undefined) return undefined;
  const { group = "", kind = "", name = "" } = ref;
  const finding = (reason: string, start: string, why: string): RootsFinding => ({
    accepted: { reason: "NoValidCACertificate", message: `Certificate reference invalid: ${why}` },
    resolvedRefs: { reason, message: `${start}: ${why}` },
  });
  if (group !== "" || (kind !== "ConfigMap" && kind !== "Secret"))
    return finding("InvalidKind", "Certificate reference not supported", `unsupported kind ${kind}`);
  const { namespace } = key;
  if (!lookups.hasObject(kind, namespace, name)) {
    const why = `reference ${namespace}/${name} (of kind ${kind}) not found`;
    return finding("InvalidCACertificateRef", "Certificate reference not found", why);
  }
  const why = lookups.rootsProblem({ kind, namespace, name });
  return why === undefined ? undefined : finding("InvalidCACertificateRef", "Certificate invalid", why);
}

export function backendTrafficStatus(
  policy: Config<BackendTrafficSpec>,
  lookups: Pick<PolicyLookups, "targetOf">,
): readonly AncestorStatus[] {
  const { key, spec } = policy;
  if (isIgnoredPolicy(policy)) return ignoredStatus(spec);
  const unsupported = spec.sessionPersistence === undefined ? [] : ["sessionPersistence"];
  const but = `, but Istio does not support the following fields: ${unsupported.join(", ")}`;
  const message = unsupported.length === 0 ? valid : `${valid}${but}`;
  return (spec.targetRefs ?? []).map((ref) => ({
    ancestorRef: ref,
    controllerName: meshController,
    conditions: [condition("Accepted", { reason: "Accepted", message }, targetProblem(ref, key.namespace, lookups))],
  }));
}
