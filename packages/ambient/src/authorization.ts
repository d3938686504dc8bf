/**
 * AuthorizationPolicies as ztunnel enforces them. It sees connections and no requests: of an ALLOW policy the rules that ask for more
 * are left out, of a DENY policy what they ask for, so that both are stricter than they were meant. Source: corpus ambient.
 */
import { type Config, compareText, ownValue, parseBoolean, parseCidr } from "@flotilla/model";
import type { MessageInitShape } from "@flotilla/proto";
import {
  Action,
  type AuthorizationSchema,
  type MatchSchema,
  type RulesSchema,
  Scope,
  type StringMatchSchema,
} from "@flotilla/proto/istio/security/authorization_pb";
import {
  type AuthorizationPolicy,
  type Condition,
  type Operation,
  AuthorizationPolicy_Action as PolicyAction,
  type Rule,
  type Source,
} from "@flotilla/proto/security/v1beta1/authorization_policy_pb";
import { addressBytes } from "./messages.ts";

export type AuthorizationInit = MessageInitShape<typeof AuthorizationSchema>;
type Match = MessageInitShape<typeof MatchSchema>;
type Rules = MessageInitShape<typeof RulesSchema>;
type StringMatch = MessageInitShape<typeof StringMatchSchema>;

export interface TranslatedPolicy {
  readonly authorization?: AuthorizationInit;
  /** The part of the policy that ztunnel does not enforce; `UnsupportedValue` in the policy's status. */
  readonly problem?: string;
}

export interface PolicySettings {
  readonly rootNamespace: string;
  /** Policies that are only logged are sent: older ztunnels would enforce them. */
  readonly sendsDryRun: boolean;
}

/** Undefined as a whole for policies of waypoints and gateways. */
export function translatePolicy(
  { key, annotations, spec }: Config<AuthorizationPolicy>,
  { rootNamespace, sendsDryRun }: PolicySettings,
): TranslatedPolicy {
  const dryRun = parseBoolean(ownValue(annotations, "istio.io/dry-run") ?? "") === true;
  if (dryRun && !sendsDryRun) return { problem: dryRunProblem(key) };
  if (spec.targetRef !== undefined || spec.targetRefs.length > 0) return {};
  const { action } = spec;
  if (action !== PolicyAction.ALLOW && action !== PolicyAction.DENY)
    return { problem: `ztunnel does not support the ${action === PolicyAction.AUDIT ? "AUDIT" : "CUSTOM"} action` };
  const isDeny = action === PolicyAction.DENY;
  const found = new Set<string>();
  const groups = spec.rules.flatMap((rule) => {
    const own = requestAttributes(rule);
    for (const attribute of own) found.add(attribute);
    return own.length > 0 && !isDeny ? [] : [{ rules: rulesOf(rule, key.namespace) }];
  });
  const authorization = {
    name: key.name,
    namespace: key.namespace,
    scope: scopeOf(key.namespace, spec, rootNamespace),
    action: isDeny ? Action.DENY : Action.ALLOW,
    groups,
    dryRun,
  };
  if (found.size === 0) return { authorization };
  return { authorization, problem: attributesProblem([...found], isDeny, groups) };
}

function dryRunProblem({ namespace, name }: Config["key"]): string {
  return `found policy "${namespace}/${name}" using dry-run annotation, but support for ambient dry-run authorizationPolicies isn't enabled`;
}

function scopeOf(namespace: string, { selector }: AuthorizationPolicy, rootNamespace: string): Scope {
  if (selector !== undefined) return Scope.WORKLOAD_SELECTOR;
  return namespace === rootNamespace ? Scope.GLOBAL : Scope.NAMESPACE;
}

const operationAttributes = ["hosts", "notHosts", "methods", "notMethods", "paths", "notPaths"] as const;
const sourceAttributes = ["remoteIpBlocks", "notRemoteIpBlocks", "requestPrincipals", "notRequestPrincipals"] as const;
const connectionKeys: ReadonlySet<string> = new Set([
  "source.ip",
  "source.namespace",
  "source.principal",
  "source.serviceAccount",
  "destination.ip",
  "destination.port",
]);

/** Request attributes that a rule matches on, which only an HTTP proxy can evaluate. */
function requestAttributes({ from, to, when }: Rule): readonly string[] {
  return [
    ...to.flatMap(({ operation }) => operationAttributes.filter((name) => (operation?.[name].length ?? 0) > 0)),
    ...from.flatMap(({ source }) => sourceAttributes.filter((name) => (source?.[name].length ?? 0) > 0)),
    ...when.map(({ key }) => key).filter((key) => !connectionKeys.has(key)),
  ];
}

/** All of them must hold, of each any match. */
function rulesOf({ from, to, when }: Rule, namespace: string): Rules[] {
  const operations = to.map(({ operation }) => operationMatch(operation));
  const sources = from.map(({ source }) => sourceMatch(source, namespace));
  return [
    ...(operations.length === 0 ? [] : [{ matches: operations }]),
    ...(sources.length === 0 ? [] : [{ matches: sources }]),
    ...when.map((condition) => ({ matches: [conditionMatch(condition, namespace)] })),
  ];
}

function operationMatch(operation: Operation | undefined): Match {
  return { destinationPorts: ports(operation?.ports), notDestinationPorts: ports(operation?.notPorts) };
}

function sourceMatch(source: Source | undefined, namespace: string): Match {
  return {
    sourceIps: ranges(source?.ipBlocks),
    notSourceIps: ranges(source?.notIpBlocks),
    namespaces: texts(source?.namespaces),
    notNamespaces: texts(source?.notNamespaces),
    principals: texts(source?.principals),
    notPrincipals: texts(source?.notPrincipals),
    serviceAccounts: accounts(source?.serviceAccounts, namespace),
    notServiceAccounts: accounts(source?.notServiceAccounts, namespace),
  };
}

function conditionMatch({ key, values, notValues }: Condition, namespace: string): Match {
  switch (key) {
    case "source.ip":
      return { sourceIps: ranges(values), notSourceIps: ranges(notValues) };
    case "source.namespace":
      return { namespaces: texts(values), notNamespaces: texts(notValues) };
    case "source.principal":
      return { principals: texts(values), notPrincipals: texts(notValues) };
    case "source.serviceAccount":
      return { serviceAccounts: accounts(values, namespace), notServiceAccounts: accounts(notValues, namespace) };
    case "destination.ip":
      return { destinationIps: ranges(values), notDestinationIps: ranges(notValues) };
    case "destination.port":
      return { destinationPorts: ports(values), notDestinationPorts: ports(notValues) };
    default:
      return {};
  }
}

function ports(values: readonly string[] = []): number[] {
  return values
    .filter((value) => /^\d+$/.test(value))
    .map(Number)
    .filter((port) => port <= 65535);
}

function ranges(values: readonly string[] = []) {
  return values.flatMap((value) => {
    const range = parseCidr(value);
    return range === undefined ? [] : [{ address: addressBytes(range.address), length: range.length }];
  });
}

function accounts(values: readonly string[] = [], namespace: string) {
  return values.map((value) => {
    const slash = value.indexOf("/");
    if (slash === -1) return { namespace, serviceAccount: value };
    return { namespace: value.slice(0, slash), serviceAccount: value.slice(slash + 1) };
  });
}

function texts(values: readonly string[] = []): StringMatch[] {
  return values.map(textMatch);
}

function textMatch(value: string): StringMatch {
  if (value === "*") return { matchType: { case: "presence", value: {} } };
  if (value.startsWith("*")) return { matchType: { case: "suffix", value: value.slice(1) } };
  if (value.endsWith("*")) return { matchType: { case: "prefix", value: value.slice(0, -1) } };
  return { matchType: { case: "exact", value } };
}

type Groups = readonly { readonly rules?: readonly Rules[] }[];

function attributesProblem(found: readonly string[], isDeny: boolean, groups: Groups): string {
  const head = `ztunnel does not support HTTP attributes (found: ${found.toSorted(compareText).join(", ")}). In ambient mode you must use a waypoint proxy to enforce HTTP rules.`;
  if (!isDeny)
    return `${head} Within an ALLOW policy, rules matching HTTP attributes are omitted. This will be more restrictive than requested.`;
  return hasEffectiveRules(groups)
    ? `${head} DENY policy with HTTP attributes is enforced without the HTTP rules. This will be more restrictive than requested.`
    : `${head} After omitting unsupported HTTP attributes, this DENY policy has no enforceable rules at ztunnel and will have no effect. Deploy a waypoint proxy and use a targetRef to enforce this policy.`;
}

/** ztunnel takes a match of nothing for one that never holds, so that a group with such a rule denies nothing. */
export function hasEffectiveRules(groups: Groups): boolean {
  const isEmpty = (match: Match) => Object.values(match).every((value) => !Array.isArray(value) || value.length === 0);
  return groups.some(({ rules = [] }) => rules.every(({ matches = [] }) => matches.some((match) => !isEmpty(match))));
}
