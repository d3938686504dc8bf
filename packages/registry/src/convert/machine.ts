/**
 * The WorkloadEntry that a registered machine stands for. Name, labels and annotations as Istio's auto-registration writes them;
 * the entry itself is never written: the fleet holds it as long as the machine is connected.
 */
import type { Config, Machine } from "@flotilla/model";
import type { WorkloadEntrySpec } from "../kube.ts";
import { spiffeId } from "./identity.ts";
import { localityLabel } from "./labels.ts";

export interface WorkloadGroupSpec {
  readonly metadata?: {
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly template?: WorkloadEntrySpec;
  readonly probe?: unknown;
}

const longestName = 253;

export function machineEntry(
  { key, address, locality, labels: said, connectedAtMs, health }: Machine,
  group: Config,
): Config {
  const { metadata = {}, template = {}, probe } = group.spec as WorkloadGroupSpec;
  const { [localityLabel]: _, ...own } = said;
  const labels = { ...template.labels, ...metadata.labels, ...own };
  const network = key.network || template.network;
  const status = health?.healthy === true ? "True" : "False";
  const condition = { type: "Healthy", status, ...(health?.message ? { message: health.message } : {}) };
  return {
    key: { kind: "WorkloadEntry", namespace: key.namespace, name: entryName(key.group, address, key.network) },
    labels,
    annotations: {
      ...metadata.annotations,
      "istio.io/autoRegistrationGroup": key.group,
      "istio.io/connectedAt": new Date(connectedAtMs).toISOString(),
      ...(probe === undefined ? {} : { "proxy.istio.io/health-checks-enabled": "true" }),
    },
    creationTimeMs: connectedAtMs,
    spec: {
      ...template,
      address,
      labels,
      ...(network ? { network } : {}),
      ...(locality === "" ? {} : { locality }),
    } satisfies WorkloadEntrySpec,
    ...(health === undefined ? {} : { status: { conditions: [condition] } }),
  };
}

/** Why a machine may not be part of a group; undefined when it may. */
export function registrationRefusal(
  { key, identities }: Machine,
  group: Config | undefined,
  { trustDomain, validateIdentity }: { readonly trustDomain: string; readonly validateIdentity: boolean },
): string | undefined {
  if (group === undefined) return "there is no such WorkloadGroup: the machine waits for it";
  if (!validateIdentity) return undefined;
  const { template = {} } = group.spec as WorkloadGroupSpec;
  const wanted = spiffeId(trustDomain, key.namespace, template.serviceAccount || "default");
  if (identities.includes(wanted)) return undefined;
  return `its identity is ${identities.join(", ") || "not proven"}, the group's is ${wanted}`;
}

/** Cut from the left, so that what tells machines apart stays. */
function entryName(group: string, address: string, network: string): string {
  const name = [group, address.replaceAll(":", "-"), network].filter((part) => part !== "").join("-");
  return name.slice(-longestName);
}
