/**
 * PeerAuthentications as policies of ztunnel, which refuses connections without an identity where mutual TLS is asked for: a policy
 * of the mesh for workloads that ask for it on all ports, and one of its own for each object with exceptions by port.
 */
import type { Config, MutualTlsMode } from "@flotilla/model";
import { Action, Scope } from "@flotilla/proto/istio/security/authorization_pb";
import {
  PeerAuthentication_MutualTLS_Mode as Mode,
  type PeerAuthentication,
} from "@flotilla/proto/security/v1beta1/peer_authentication_pb";
import type { AuthorizationInit } from "./authorization.ts";

/** Name of the policy that is the same for all workloads without exceptions, in the root namespace. */
export const strictPolicyName = "istio_converted_static_strict";

const noIdentity = { notPrincipals: [{ matchType: { case: "presence", value: {} } }] } as const;

/** Refuses all connections without an identity. */
export function strictPolicy(rootNamespace: string): AuthorizationInit {
  return {
    ...{ name: strictPolicyName, namespace: rootNamespace, scope: Scope.WORKLOAD_SELECTOR, action: Action.DENY },
    groups: [{ rules: [{ matches: [{ notPrincipals: [...noIdentity.notPrincipals] }] }] }],
  };
}

const convertedPrefix = "converted_peer_authentication_";

function convertedName(name: string): string {
  return `${convertedPrefix}${name}`;
}

/** The PeerAuthentication that a policy of this name is converted from; undefined for the names of other policies. */
export function peerAuthenticationOfPolicy(name: string): string | undefined {
  return name.startsWith(convertedPrefix) ? name.slice(convertedPrefix.length) : undefined;
}

type PortModes = ReadonlyMap<number, Mode>;

/** In order of port numbers; ports without a mode of their own are left out. */
function portModes({ portLevelMtls }: PeerAuthentication): PortModes {
  const modes = Object.entries(portLevelMtls)
    .map(([port, { mode }]) => [Number(port), mode] as const)
    .filter(([, mode]) => mode !== Mode.UNSET);
  return new Map(modes.sort(([a], [b]) => a - b));
}

/** @param inherited the mode of its namespace */
function isStrict({ mtls }: PeerAuthentication, inherited: MutualTlsMode): boolean {
  const own = mtls?.mode ?? Mode.UNSET;
  return own === Mode.UNSET ? inherited === "STRICT" : own === Mode.STRICT;
}

/** The policy of an object with a selector, where its ports differ from the rest; undefined where they do not. */
export function convertPeerAuthentication(
  { key, spec }: Config<PeerAuthentication>,
  inherited: MutualTlsMode,
): AuthorizationInit | undefined {
  const groups = isStrict(spec, inherited) ? exceptPorts(spec, inherited) : onlyPorts(spec);
  if (groups.length === 0 || Object.keys(spec.selector?.matchLabels ?? {}).length === 0) return undefined;
  const { namespace } = key;
  return {
    ...{ name: convertedName(key.name), namespace, scope: Scope.WORKLOAD_SELECTOR, action: Action.DENY },
    groups,
  };
}

/** The mode of the object itself and that of its namespace each make a rule, as in istiod. */
function exceptPorts(spec: PeerAuthentication, inherited: MutualTlsMode) {
  const open = [...portModes(spec)].filter(([, mode]) => mode !== Mode.STRICT).map(([port]) => port);
  if (open.length === 0) return [];
  const strict = { matches: [{ notPrincipals: [...noIdentity.notPrincipals] }] };
  const rules = [
    ...(spec.mtls?.mode === Mode.STRICT ? [strict] : []),
    ...open.map((port) => ({ matches: [{ notDestinationPorts: [port] }] })),
    ...(inherited === "STRICT" ? [strict] : []),
  ];
  return [{ rules }];
}

function onlyPorts(spec: PeerAuthentication) {
  const strict = [...portModes(spec)].filter(([, mode]) => mode === Mode.STRICT);
  return strict.map(([port]) => ({
    rules: [{ matches: [{ notPrincipals: [...noIdentity.notPrincipals], destinationPorts: [port] }] }],
  }));
}

/**
 * Names of the policies that hold for a workload, as `namespace/name`.
 * @param own the oldest object that selects it
 */
export function peerPolicyNames(
  own: Config<PeerAuthentication> | undefined,
  inherited: MutualTlsMode,
  rootNamespace: string,
): readonly string[] {
  const converted = own && !keepsStrict(own.spec, inherited) ? convertPeerAuthentication(own, inherited) : undefined;
  if (converted !== undefined) return [`${converted.namespace}/${converted.name}`];
  const strict = own === undefined ? inherited === "STRICT" : isStrict(own.spec, inherited);
  return strict ? [`${rootNamespace}/${strictPolicyName}`] : [];
}

/** Exceptions from an inherited STRICT count with PERMISSIVE alone: ports with DISABLE stay strict, as in istiod. */
function keepsStrict(spec: PeerAuthentication, inherited: MutualTlsMode): boolean {
  if (inherited !== "STRICT" || (spec.mtls?.mode ?? Mode.UNSET) !== Mode.UNSET) return false;
  return ![...portModes(spec).values()].includes(Mode.PERMISSIVE);
}
