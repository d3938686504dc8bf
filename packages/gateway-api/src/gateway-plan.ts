/**
 * A Gateway with its ListenerSets: which listeners there are, who may attach to them, and the Gateways of Istio's API that they
 * stand for. Everything but routes; the status of all these objects follows from it (gateway-status.ts).
 */
import { type Config, type ConfigKey, compareByAge, type ObjectName, objectName, ownValue } from "@flotilla/model";
import { create } from "@flotilla/proto";
import { type Gateway, GatewaySchema } from "@flotilla/proto/networking/v1alpha3/gateway_pb";
import type { Problem } from "./conditions.ts";
import { type ClassLookups, type ServedClass, servedClass } from "./gateway-classes.ts";
import type { KubernetesGatewaySpec, ListenerSetSpec } from "./gateway-spec.ts";
import {
  allowedNamespaces,
  type ListenerLookups,
  type ListenerOwner,
  type ListenerPlan,
  planListener,
  withConflicts,
} from "./listener-plan.ts";
import { clientValidation, refText } from "./listener-tls.ts";
import { isGranted, notGranted } from "./reference-grants.ts";

export interface GatewayLookups extends ListenerLookups, ClassLookups {
  readonly domain: string;
  readonly hasConfigMap: (namespace: string, name: string) => boolean;
  /** The reason for which the parameters in a ConfigMap cannot be followed; callers that deploy nothing do not ask. */
  readonly parametersProblem?: (namespace: string, name: string) => string | undefined;
}

export interface GatewayPlan {
  readonly key: ConfigKey;
  readonly creationTimeMs: number;
  readonly served: ServedClass;
  /** Host names of the Services in front of its workloads. */
  readonly services: readonly string[];
  /** The service account of workloads that are deployed for it; "" where users deploy them. */
  readonly serviceAccount: string;
  /** As the Gateway has them, for one that is not programmed from here. */
  readonly addresses: NonNullable<KubernetesGatewaySpec["addresses"]>;
  readonly addressProblem?: Problem;
  readonly parametersProblem?: Problem;
  readonly clientCertificateProblem?: Problem;
  /** Name of the SDS resource with the certificate that is shown to back ends of BackendTLSPolicies. */
  readonly clientCredential?: string;
  readonly listeners: readonly ListenerPlan[];
  readonly sets: readonly ListenerSetPlan[];
}

export interface ListenerSetPlan {
  readonly key: ConfigKey;
  readonly creationTimeMs: number;
  /** Why none of its listeners counts. */
  readonly problem?: Problem;
  readonly listeners: readonly ListenerPlan[];
}

const nameAnnotation = "gateway.istio.io/name-override";
const accountAnnotation = "gateway.istio.io/service-account";

/** Undefined: the Gateway is another controller's. `sets` are those that name it as their parent. */
export function planGateway(
  gateway: Config<KubernetesGatewaySpec>,
  sets: readonly Config<ListenerSetSpec>[],
  lookups: GatewayLookups,
): GatewayPlan | undefined {
  const { key, spec, labels, annotations, creationTimeMs } = gateway;
  const served = servedClass(spec.gatewayClassName ?? "", lookups);
  if (served === undefined) return undefined;
  const { services, unsupported, isManaged } = servicesOf(gateway, served, lookups.domain);
  const addressProblem = unsupported.length === 0 ? undefined : unsupportedAddress(unsupported);
  const own = { services, addresses: spec.addresses ?? [], ...(addressProblem && { addressProblem }) };
  const isUsable = services.length > 0 && served.role !== "remote";
  const owner = { key, served, labels, validationOf: (port: number) => clientValidation(spec, port) };
  const planned = planSets({ sets, owner, gateway, problem: isUsable ? undefined : addressProblem }, lookups);
  const listeners = isUsable
    ? (spec.listeners ?? []).map((one) => planListener(one, { ...owner, kind: "Gateway" }, lookups))
    : [];
  const name = managedName(gateway, served);
  const parametersProblem = problemOfParameters(gateway, lookups);
  return {
    ...{ key, creationTimeMs, served, ...own },
    serviceAccount: isManaged ? (ownValue(annotations, accountAnnotation) ?? name) : "",
    ...(parametersProblem && { parametersProblem }),
    ...clientCertificate(gateway, lookups),
    ...separated(listeners, planned),
  };
}

/** Listeners of the Gateway count before those of its sets, those of older sets before those of younger ones. */
function separated(own: readonly ListenerPlan[], sets: readonly ListenerSetPlan[]) {
  const all = withConflicts([...own, ...sets.flatMap(({ listeners }) => listeners)]);
  let next = own.length;
  const judged = sets.map((set) => {
    const listeners = all.slice(next, next + set.listeners.length);
    next += set.listeners.length;
    return { ...set, listeners };
  });
  return { listeners: all.slice(0, own.length), sets: judged };
}

interface SetsOfGateway {
  readonly sets: readonly Config<ListenerSetSpec>[];
  readonly gateway: Config<KubernetesGatewaySpec>;
  readonly owner: Omit<ListenerOwner, "kind">;
  /** Of the Gateway itself. */
  readonly problem: Problem | undefined;
}

function planSets({ sets, gateway, owner, problem }: SetsOfGateway, lookups: GatewayLookups): ListenerSetPlan[] {
  const allowed = gateway.spec.allowedListeners?.namespaces ?? { from: "None" };
  const homes = allowedNamespaces(allowed, gateway.key.namespace, lookups.namespaces);
  return sets.toSorted(compareByAge).map(({ key, creationTimeMs, labels, spec }) => {
    const found = setProblem(owner.served, homes, key.namespace) ?? problem;
    if (found !== undefined) return { key, creationTimeMs, problem: found, listeners: [] };
    const listeners = (spec.listeners ?? []).map((one) =>
      planListener(one, { ...owner, key, labels, kind: "ListenerSet" }, lookups),
    );
    return { key, creationTimeMs, listeners };
  });
}

function setProblem({ name, listenerSets }: ServedClass, homes: readonly string[], namespace: string) {
  if (!listenerSets)
    return { reason: "NotAllowed", message: `The "${name}" GatewayClass does not support ListenerSet` };
  if (homes.includes("*") || homes.includes(namespace)) return undefined;
  const message = "The parent Gateway does not allow this reference; check the 'spec.allowedRoutes'";
  return { reason: "NotAllowed", message };
}

function unsupportedAddress(values: readonly string[]): Problem {
  return { reason: "UnsupportedAddress", message: `only Hostname is supported, ignoring [${values.join(" ")}]` };
}

/** Without an address, or with one that an own Service could have, workloads are deployed for the Gateway; always, where none may be manual. */
function servicesOf({ key, spec, annotations }: Config<KubernetesGatewaySpec>, served: ServedClass, domain: string) {
  const { addresses = [] } = spec;
  const [{ type = "IPAddress" } = {}] = addresses;
  const suffix = `${key.namespace}.svc.${domain}`;
  if (!served.allowsManual || addresses.length === 0 || (addresses.length === 1 && type === "IPAddress")) {
    const name = managedName({ key, annotations }, served);
    return { services: [`${name}.${suffix}`], unsupported: [], isManaged: true };
  }
  const hosts = addresses.filter((one) => one.type === "Hostname").map(({ value = "" }) => value);
  return {
    services: hosts.map((host) => (host.includes(".") ? host : `${host}.${suffix}`)),
    unsupported: addresses.filter((one) => one.type !== "Hostname").map(({ value = "" }) => value),
    isManaged: false,
  };
}

function managedName({ key, annotations }: Pick<Config, "key" | "annotations">, { name, keepsName }: ServedClass) {
  return ownValue(annotations, nameAnnotation) ?? (keepsName ? key.name : `${key.name}-${name}`);
}

function problemOfParameters({ key, spec }: Config<KubernetesGatewaySpec>, lookups: GatewayLookups) {
  const ref = spec.infrastructure?.parametersRef;
  if (ref === undefined) return undefined;
  const { group = "", kind = "", name = "" } = ref;
  if (group !== "" || kind !== "ConfigMap") {
    const message = `Unsupported parametersRef group/kind ${group}/${kind}, only ConfigMap is supported`;
    return { reason: "InvalidParameters", message };
  }
  if (lookups.hasConfigMap(key.namespace, name)) {
    const problem = lookups.parametersProblem?.(key.namespace, name);
    return problem === undefined
      ? undefined
      : { reason: "InvalidParameters", message: `ConfigMap ${name}: ${problem}` };
  }
  const message = `parametersRef ConfigMap ${key.namespace}/${name} does not exist`;
  return { reason: "InvalidParameters", message };
}

/** The certificate that the Gateway shows to back ends, or why it has none. */
function clientCertificate(
  { key, spec }: Config<KubernetesGatewaySpec>,
  lookups: GatewayLookups,
): Pick<GatewayPlan, "clientCredential" | "clientCertificateProblem"> {
  const ref = spec.tls?.backend?.clientCertificateRef;
  if (ref === undefined) return {};
  const { group = "", kind = "Secret", namespace = key.namespace, name = "" } = ref;
  const text = `invalid clientCertificateRef ${refText(ref)}, `;
  const invalid = (why: string) => ({
    clientCertificateProblem: { reason: "InvalidClientCertificateRef", message: `${text}${why}` },
  });
  if (group !== "" || kind !== "Secret") return invalid("only secret is allowed");
  const reference = { from: { kind: "Gateway", namespace: key.namespace }, to: { group, kind, namespace, name } };
  if (!isGranted(reference, lookups.grantsIn))
    return { clientCertificateProblem: notGranted(`clientCertificateRef ${namespace}/${name}`, reference) };
  const problem = lookups.certificateProblem(namespace, name);
  return problem === undefined ? { clientCredential: `kubernetes-gateway://${namespace}/${name}` } : invalid(problem);
}

const generated = "istio-autogenerated-k8s-gateway";

/** The name of the Gateway that a listener stands for, as routes and their VirtualServices refer to it. */
export function listenerGatewayName({ owner, name }: ListenerPlan): ObjectName {
  return objectName.write({ namespace: owner.namespace, name: `${owner.name}~${generated}~${name}` });
}

/** One for each listener that serves. */
export function gatewayConfigs(plan: GatewayPlan): readonly Config<Gateway>[] {
  const { key, creationTimeMs, sets, listeners } = plan;
  const own = listeners.map((listener) => gatewayConfig(plan, listener, { kind: "Gateway", creationTimeMs }));
  const ofSets = sets.flatMap((set) =>
    set.listeners.map((listener) => gatewayConfig(plan, listener, { kind: "ListenerSet", ...set, parent: key })),
  );
  return [...own, ...ofSets].flat();
}

function gatewayConfig(
  { services, serviceAccount }: GatewayPlan,
  listener: ListenerPlan,
  owner: { readonly kind: string; readonly creationTimeMs: number; readonly parent?: ConfigKey },
): readonly Config<Gateway>[] {
  const { server, owner: key } = listener;
  if (server === undefined) return [];
  return [
    {
      key: { kind: "Gateway", ...objectName.read(listenerGatewayName(listener)) },
      creationTimeMs: owner.creationTimeMs,
      labels: {},
      annotations: {
        "internal.istio.io/gateway-semantics": "gateway",
        "internal.istio.io/gateway-service": services.join(","),
        "internal.istio.io/parents": `${owner.kind}/${key.name}/${listener.name}.${key.namespace}`,
        "internal.istio.io/service-account-name": serviceAccount,
        ...(owner.parent && { "internal.istio.io/parent-namespace": owner.parent.namespace }),
      },
      spec: create(GatewaySchema, { servers: [server] }),
    },
  ];
}
