/**
 * The DNS names of the control plane, and who may have them in a certificate: the accounts of the control plane's services alone,
 * else in their namespace, where gateways may run as well (docs/decisions/0021-serving-names.md).
 */
import { parseIdentity } from "@flotilla/auth";
import type { San } from "@flotilla/pki";
import { CaError } from "../errors.ts";

export interface ServingRules {
  readonly namespace: string;
  readonly domain: string;
  readonly revision: string;
  readonly customHosts: readonly string[];
  readonly accounts: readonly string[];
  /** Servers beside them, such as NATS: each may be the Service of its own name, or a pod of it, and no other. */
  readonly serverAccounts: readonly string[];
  readonly trustDomains: () => readonly string[];
}

/** Services of the control plane by the names of their Kubernetes Services. */
const services = ["istiod", "istiod-remote", "flotilla-ca", "flotilla-xds-server", "flotilla-webhook"];

/** The first one is what our own services expect of the CA. */
export function servingNames({ namespace, domain, revision, customHosts }: ServingRules): readonly string[] {
  const all = revision === "default" || revision === "" ? services : [...services, `istiod-${revision}`];
  const names = all.flatMap((service) => [`${service}.${namespace}.svc`, `${service}.${namespace}.svc.${domain}`]);
  return [...names, ...customHosts, "localhost"];
}

/**
 * Names that are asked for and allowed. A workload's names are ignored, those of our own services are granted or refused. @throws CaError
 * CA_NAME_REFUSED
 */
export function grantedNames(identity: string, asked: readonly San[], rules: ServingRules): readonly San[] {
  const isAllowed = allowedNames(identity, rules);
  if (isAllowed === undefined) return [];
  const names = asked.filter(({ type }) => type !== "uri");
  const foreign = names.find(({ type, value }) => type !== "dns" || !isAllowed(value));
  if (foreign !== undefined)
    throw new CaError(
      "CA_NAME_REFUSED",
      `${foreign.type} name ${JSON.stringify(foreign.value)} is not one of the control plane`,
    );
  return names;
}

/** Undefined for a workload. */
function allowedNames(text: string, rules: ServingRules): ((name: string) => boolean) | undefined {
  const { namespace, domain, accounts, serverAccounts, trustDomains } = rules;
  const identity = parseIdentity(text);
  if (identity === undefined || !trustDomains().includes(identity.trustDomain) || identity.namespace !== namespace)
    return undefined;
  const account = identity.serviceAccount;
  if (accounts.includes(account)) return (name) => servingNames(rules).includes(name);
  if (!serverAccounts.includes(account)) return undefined;
  const service = `${account}.${namespace}.svc`;
  const names = [service, `${service}.${domain}`];
  return (name) => name === "localhost" || names.includes(withoutPod(name, account));
}

/** `flotilla-nats-0.flotilla-nats.istio-system.svc` is a pod of the StatefulSet flotilla-nats: the name without the pod's. */
function withoutPod(name: string, account: string): string {
  const dot = name.indexOf(".");
  const isPod = name.startsWith(`${account}-`) && /^\d+$/.test(name.slice(account.length + 1, dot));
  return isPod ? name.slice(dot + 1) : name;
}
