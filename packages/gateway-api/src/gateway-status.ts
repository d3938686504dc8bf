/** Status of GatewayClasses, Gateways and ListenerSets. Source: corpus gateway-api. */
import { compareText, isIpAddress } from "@flotilla/model";
import { type Condition, condition, enumerated, type Problem } from "./conditions.ts";
import type { GatewayPlan, ListenerSetPlan } from "./gateway-plan.ts";
import { gatewayGroup } from "./gateway-spec.ts";
import type { ListenerPlan } from "./listener-plan.ts";

/** A Service in front of a Gateway's workloads. */
export interface GatewayService {
  /** Ports with an endpoint behind them. */
  readonly servedPorts: readonly number[];
  /** Ports of the Service by the port of an endpoint. */
  readonly portsByTarget: ReadonlyMap<number, readonly number[]>;
  readonly externalAddresses: readonly string[];
  readonly isLoadBalancer: boolean;
}

export interface StatusLookups {
  /** Undefined where there is no such Service. */
  readonly serviceOf: (hostname: string) => GatewayService | undefined;
  readonly attachedRoutes: (listener: ListenerPlan) => number;
}

export interface Address {
  readonly type: "IPAddress" | "Hostname";
  readonly value: string;
}

export interface ListenerStatus {
  readonly name: string;
  readonly attachedRoutes: number;
  readonly supportedKinds: readonly { readonly group: string; readonly kind: string }[];
  readonly conditions: readonly Condition[];
}

export interface GatewayStatus {
  readonly addresses?: readonly Address[];
  readonly attachedListenerSets?: number;
  readonly conditions: readonly Condition[];
  readonly listeners?: readonly ListenerStatus[];
}

const maxAddresses = 16;
const resolvedRefs = { reason: "ResolvedRefs", message: "All references resolved" };
const accepted = { reason: "Accepted", message: "Resource accepted" };

export function gatewayClassStatus(): { readonly conditions: readonly Condition[] } {
  return { conditions: [condition("Accepted", { reason: "Accepted", message: "Handled by Istio controller" })] };
}

export function gatewayStatus(plan: GatewayPlan, lookups: StatusLookups): GatewayStatus {
  if (plan.served.role === "remote") return remoteStatus(plan);
  const sets = plan.sets.filter(isAccepted);
  const ofSets = sets.flatMap(({ listeners }) => listeners.filter(({ server }) => server !== undefined));
  const reached = reach(plan.services, portsOf([...plan.listeners, ...ofSets]), lookups);
  const addresses = addressesOf(reached);
  const insecure = plan.listeners.some(({ isInsecure }) => isInsecure);
  return {
    ...(addresses.length > 0 && { addresses }),
    ...(sets.length > 0 && { attachedListenerSets: sets.length }),
    conditions: [
      acceptedCondition(plan),
      ...(insecure ? [insecureCondition] : []),
      programmedCondition(plan.services.length === 0 ? plan.addressProblem : undefined, reached),
      condition("ResolvedRefs", resolvedRefs, plan.clientCertificateProblem),
    ],
    ...(plan.listeners.length > 0 && { listeners: listenerStatuses(plan.listeners, lookups) }),
  };
}

const insecureCondition: Condition = {
  type: "InsecureFrontendValidationMode",
  status: "True",
  reason: "ConfigurationChanged",
  message: "Gateway is operating in AllowInsecureFallback mode for frontend validation",
};

/** Its workloads are elsewhere: only the addresses are of use here. */
function remoteStatus({ addresses }: GatewayPlan): GatewayStatus {
  const shown = addresses.map(({ type, value = "" }) => ({
    type: type === "Hostname" ? ("Hostname" as const) : ("IPAddress" as const),
    value,
  }));
  const message = "This Gateway is remote; Istio will not program it";
  return {
    ...(shown.length > 0 && { addresses: shown }),
    conditions: [condition("Accepted", accepted), condition("Programmed", { reason: "Programmed", message })],
  };
}

function acceptedCondition({ addressProblem, parametersProblem, listeners, served }: GatewayPlan): Condition {
  const problem = addressProblem ?? parametersProblem;
  const invalid = served.role === "ingress" ? listeners.filter(isInvalid).length : 0;
  if (problem !== undefined || invalid === 0) return condition("Accepted", accepted, problem);
  const reason = "ListenersNotValid";
  return invalid === listeners.length
    ? condition("Accepted", accepted, { reason, message: "None of the Gateway's listeners are valid" })
    : condition("Accepted", { reason, message: "One or more of the Gateway's listeners are invalid" });
}

/** A listener that only leaves out kinds of routes serves the others. */
function isInvalid({ problems: { accepted, conflicted, programmed } }: ListenerPlan): boolean {
  return accepted !== undefined || conflicted !== undefined || programmed !== undefined;
}

function isAccepted({ problem, listeners }: ListenerSetPlan): boolean {
  return problem === undefined && !(listeners.length > 0 && listeners.every(isInvalid));
}

export function listenerSetStatus(set: ListenerSetPlan, plan: GatewayPlan, lookups: StatusLookups): GatewayStatus {
  const { problem, listeners } = set;
  if (problem !== undefined) {
    const isParents = problem === plan.addressProblem;
    const own = isParents ? { ...problem, message: `Parent not accepted: ${problem.message}` } : problem;
    const programmed = isParents ? { ...problem, message: nowhere } : problem;
    return { conditions: [condition("Accepted", accepted, own), condition("Programmed", accepted, programmed)] };
  }
  const message = "None of the ListenerSet's listeners are valid";
  const none = isAccepted(set) ? undefined : { reason: "ListenersNotValid", message };
  const programmed = programmedCondition(undefined, reach(plan.services, portsOf(listeners), lookups));
  return {
    conditions: [
      condition("Accepted", accepted, none),
      none === undefined ? programmed : condition("Programmed", accepted, none),
    ],
    ...(listeners.length > 0 && { listeners: listenerStatuses(listeners, lookups) }),
  };
}

function listenerStatuses(listeners: readonly ListenerPlan[], { attachedRoutes }: StatusLookups): ListenerStatus[] {
  return listeners.map((listener) => ({
    name: listener.name,
    attachedRoutes: attachedRoutes(listener),
    supportedKinds: listener.kinds.map((kind) => ({ group: gatewayGroup, kind })),
    conditions: listenerConditions(listener),
  }));
}

function listenerConditions({ problems }: ListenerPlan): readonly Condition[] {
  const fine = (reason: string): Problem => ({ reason, message: "No errors found" });
  const { conflicted } = problems;
  if (conflicted !== undefined) {
    return [
      condition("Accepted", accepted, conflicted),
      { type: "Conflicted", status: "True", ...conflicted },
      condition("Programmed", accepted, conflicted),
    ];
  }
  return [
    condition("Accepted", fine("Accepted"), problems.accepted),
    { type: "Conflicted", status: "False", ...fine("NoConflicts") },
    condition("Programmed", fine("Programmed"), problems.programmed),
    condition("ResolvedRefs", fine("ResolvedRefs"), problems.resolvedRefs),
  ];
}

function portsOf(listeners: readonly ListenerPlan[]): readonly number[] {
  return [...new Set(listeners.map(({ port }) => port))].sort((a, b) => a - b);
}

interface Reach {
  /** `host:port`, sorted. */
  readonly services: readonly string[];
  readonly externalAddresses: readonly string[];
  /** Services that wait for an external address. */
  readonly pending: readonly string[];
  readonly problems: readonly string[];
  /** Every service exists and has every port. */
  readonly isUsable: boolean;
}

/** Through which of its services a Gateway is reached at each of its ports. */
function reach(hosts: readonly string[], ports: readonly number[], { serviceOf }: StatusLookups): Reach {
  const [services, external, pending, problems] = [[], [], [], []] as string[][] as [
    string[],
    string[],
    string[],
    string[],
  ];
  let isUsable = true;
  for (const host of hosts) {
    const service = serviceOf(host);
    if (service === undefined || service.portsByTarget.size === 0) {
      problems.push(
        service === undefined ? `hostname "${host}" not found` : `no instances found for hostname "${host}"`,
      );
      if (service === undefined) isUsable = false;
      continue;
    }
    const missing = ports.filter((port) => !service.servedPorts.includes(port));
    const served = ports.filter((port) => service.servedPorts.includes(port));
    services.push(...served.map((port) => `${host}:${port}`));
    problems.push(...missing.map((port) => missingPort(port, host, service)));
    if (missing.length > 0) isUsable = false;
    if (served.length === 0) continue;
    external.push(...service.externalAddresses);
    if (service.isLoadBalancer && service.externalAddresses.length === 0) {
      pending.push(host);
      problems.push(`address pending for hostname "${host}"`);
    }
  }
  const sorted = (texts: readonly string[]) => [...new Set(texts)].sort(compareText);
  return { services: sorted(services), externalAddresses: sorted(external), pending, problems, isUsable };
}

function missingPort(port: number, host: string, { portsByTarget }: GatewayService): string {
  const text = `port ${port} not found for hostname "${host}"`;
  const meant = portsByTarget.get(port) ?? [];
  if (meant.length === 0) return text;
  const hint = `the service port should be specified, not the workload port. Did you mean one of these ports: [${meant.join(" ")}]?`;
  return `${text} (hint: ${hint})`;
}

const nowhere = "Failed to assign to any requested addresses";

function programmedCondition(problem: Problem | undefined, { services, problems, isUsable }: Reach): Condition {
  const assigned = enumerated(services);
  const good = { reason: "Programmed", message: `Resource programmed, assigned to service(s) ${assigned}` };
  if (problem !== undefined) return condition("Programmed", good, { ...problem, message: nowhere });
  if (problems.length === 0) return condition("Programmed", good);
  const reason = isUsable ? "AddressNotAssigned" : "AddressNotUsable";
  const start =
    services.length === 0
      ? nowhere
      : `Assigned to service(s) ${assigned}, but failed to assign to all requested addresses`;
  return condition("Programmed", good, { reason, message: `${start}: ${problems.join("; ")}` });
}

/** Addresses from outside; where there are none, the names of the services. */
function addressesOf({ externalAddresses, services, pending }: Reach): readonly Address[] {
  const hosts = services.map((text) => text.slice(0, text.lastIndexOf(":"))).filter((host) => !pending.includes(host));
  const reachable = externalAddresses.length > 0 ? externalAddresses : [...new Set(hosts)];
  return reachable
    .slice(0, maxAddresses)
    .map((value) => ({ type: isIpAddress(value) ? "IPAddress" : "Hostname", value }));
}
