/**
 * The WorkloadEntry that a registered machine stands for, and a machine's health report for a WorkloadEntry that a user wrote for it. Name,
 * labels and annotations as Istio's auto-registration writes them.
 */
import type { Config, RegisteredWorkload } from "@flotilla/model";
import type { WorkloadEntrySpec } from "../kube.ts";
import { localityLabel, spiffeId } from "./endpoint-traits.ts";

interface WorkloadGroupSpec {
  readonly metadata?: {
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly template?: WorkloadEntrySpec;
  readonly probe?: unknown;
}

export interface RegistrationRules {
  readonly trustDomain: string;
  /** Only the proven identity of the group's or entry's service account counts. */
  readonly validateIdentity: boolean;
  /** Machines' reports of their health count. */
  readonly healthChecks: boolean;
}

interface HealthCondition {
  readonly type: "Healthy";
  readonly status: "True" | "False";
  readonly message?: string;
  readonly lastProbeTime: string;
}

/** The controller that writes the entries of registered machines to Kubernetes; others have names of their own there. */
export const registrationController = "flotilla";
/** Names the instance of the control plane that a registered workload is connected to. */
export const controllerAnnotation = "istio.io/workloadController";
/** Names the WorkloadGroup that a WorkloadEntry was registered from. */
export const groupAnnotation = "istio.io/autoRegistrationGroup";
const connectedAnnotation = "istio.io/connectedAt";
/** The time at which a registered workload disconnected. */
export const disconnectedAnnotation = "istio.io/disconnectedAt";
const healthAnnotation = "proxy.istio.io/health-checks-enabled";
const longestName = 253;

export function registeredEntry(machine: RegisteredWorkload, group: Config, rules: RegistrationRules): Config {
  const { key, address, locality, labels: stated, connectedAtMs } = machine;
  const { metadata = {}, template = {}, probe } = group.spec as WorkloadGroupSpec;
  const { [localityLabel]: _, ...own } = stated;
  const labels = { ...template.labels, ...metadata.labels, ...own };
  const network = key.network || template.network;
  const health = rules.healthChecks ? machine.health : undefined;
  // Without a probe a machine that reports nothing is taken for healthy, and a report is believed.
  const isChecked = rules.healthChecks && (probe !== undefined || health !== undefined);
  return {
    key: { kind: "WorkloadEntry", namespace: key.namespace, name: entryName(key.group, address, key.network) },
    labels,
    annotations: {
      ...metadata.annotations,
      [groupAnnotation]: key.group,
      [controllerAnnotation]: registrationController,
      ...connectionAnnotation(machine),
      ...(isChecked ? { [healthAnnotation]: "true" } : {}),
    },
    creationTimeMs: connectedAtMs,
    spec: {
      ...template,
      address,
      labels,
      ...(network ? { network } : {}),
      ...(locality === "" ? {} : { locality }),
    } satisfies WorkloadEntrySpec,
    ...(health === undefined ? {} : { status: { conditions: [healthCondition(health)] } }),
  };
}

/** The one takes the place of the other. */
function connectionAnnotation({
  connectedAtMs,
  disconnectedAtMs,
}: RegisteredWorkload): Readonly<Record<string, string>> {
  return disconnectedAtMs === undefined
    ? { [connectedAnnotation]: new Date(connectedAtMs).toISOString() }
    : { [disconnectedAnnotation]: new Date(disconnectedAtMs).toISOString() };
}

/** The entry with its machine's report of its own health; unchanged without a report or where it does not count. */
export function entryWithHealth(
  entry: Config,
  machine: RegisteredWorkload | undefined,
  rules: RegistrationRules,
): Config {
  const health = rules.healthChecks ? machine?.health : undefined;
  if (machine === undefined || health === undefined || healthRefusal(machine, entry, rules) !== undefined) return entry;
  return {
    ...entry,
    annotations: { ...entry.annotations, [healthAnnotation]: "true" },
    status: { ...(entry.status as object | undefined), conditions: [healthCondition(health)] },
  };
}

function healthCondition({ healthy, message, atMs }: NonNullable<RegisteredWorkload["health"]>): HealthCondition {
  return {
    type: "Healthy",
    status: healthy ? "True" : "False",
    ...(message === "" ? {} : { message }),
    lastProbeTime: new Date(atMs).toISOString(),
  };
}

/** A written image of a registration that the fleet holds itself. */
export function isRegisteredEntry({ annotations }: Config): boolean {
  return annotations[controllerAnnotation] === registrationController && annotations[groupAnnotation] !== undefined;
}

/** Why a machine may not be part of a group; undefined when it may. */
export function registrationRefusal(
  { key, identities }: RegisteredWorkload,
  group: Config | undefined,
  rules: RegistrationRules,
): string | undefined {
  if (group === undefined) return "there is no such WorkloadGroup: the machine waits for it";
  const { template = {} } = group.spec as WorkloadGroupSpec;
  return identityRefusal(key.namespace, identities, template.serviceAccount, "the group's", rules);
}

/** The reason for which a machine's report about an entry does not count; undefined when it does. */
export function healthRefusal(
  machine: RegisteredWorkload,
  entry: Config | undefined,
  rules: RegistrationRules,
): string | undefined {
  if (entry === undefined) return "there is no such WorkloadEntry: the health that the machine reports has no effect";
  const { serviceAccount } = entry.spec as WorkloadEntrySpec;
  return identityRefusal(machine.key.namespace, machine.identities, serviceAccount, "the entry's", rules);
}

function identityRefusal(
  namespace: string,
  identities: readonly string[],
  serviceAccount: string | undefined,
  whose: string,
  { trustDomain, validateIdentity }: RegistrationRules,
): string | undefined {
  const wanted = spiffeId(trustDomain, namespace, serviceAccount || "default");
  if (!validateIdentity || identities.includes(wanted)) return undefined;
  return `its identity is ${identities.join(", ") || "not proven"}, ${whose} is ${wanted}`;
}

/** Cut from the left, so that what distinguishes machines stays. */
function entryName(group: string, address: string, network: string): string {
  const name = [group, address.replaceAll(":", "-"), network].filter((part) => part !== "").join("-");
  return name.slice(-longestName);
}
