/** A rule of a policy as lists of fields, all of which must hold (of the values of a field one is enough), and how it is read. */
import type { Condition, Operation, Rule, Source } from "@flotilla/proto/security/v1beta1/authorization_policy_pb";

export interface Field {
  readonly key: string;
  readonly values: readonly string[];
  readonly notValues: readonly string[];
}

export interface RuleFields {
  /** Of the request: one of the lists must hold. */
  readonly operations: readonly (readonly Field[])[];
  /** Of the caller: one of the lists must hold. */
  readonly sources: readonly (readonly Field[])[];
}

const operationKeys = new Set(["destination.ip", "destination.port", "connection.sni"]);

export function ruleFields({ from, to, when }: Rule): RuleFields {
  const isOperation = ({ key }: Condition) => operationKeys.has(key) || key.startsWith("experimental.envoy.filters.");
  const operationConditions = when.filter(isOperation);
  const sourceConditions = when.filter((condition) => !isOperation(condition));
  return {
    operations: alternatives(to.map(({ operation }) => operationFields(operation))).map((fields) => [
      ...fields,
      ...operationConditions,
    ]),
    sources: alternatives(from.map(({ source }) => sourceFields(source))).map((fields) => [
      ...fields,
      ...sourceConditions,
    ]),
  };
}

function alternatives(lists: readonly (readonly Field[])[]): readonly (readonly Field[])[] {
  return lists.length === 0 ? [[]] : lists;
}

function operationFields(operation: Operation | undefined): readonly Field[] {
  if (operation === undefined) return [];
  const { hosts, notHosts, methods, notMethods, paths, notPaths, ports, notPorts } = operation;
  return present([
    { key: "hosts", values: hosts, notValues: notHosts },
    { key: "methods", values: methods, notValues: notMethods },
    { key: "paths", values: paths, notValues: notPaths },
    { key: "destination.port", values: ports, notValues: notPorts },
  ]);
}

function sourceFields(source: Source | undefined): readonly Field[] {
  if (source === undefined) return [];
  return present([
    { key: "source.principal", values: source.principals, notValues: source.notPrincipals },
    { key: "request.auth.principal", values: source.requestPrincipals, notValues: source.notRequestPrincipals },
    { key: "serviceAccounts", values: source.serviceAccounts, notValues: source.notServiceAccounts },
    { key: "source.trustDomain", values: source.trustDomains, notValues: source.notTrustDomains },
    { key: "source.namespace", values: source.namespaces, notValues: source.notNamespaces },
    { key: "remote.ip", values: source.remoteIpBlocks, notValues: source.notRemoteIpBlocks },
    { key: "source.ip", values: source.ipBlocks, notValues: source.notIpBlocks },
  ]);
}

function present(fields: readonly Field[]): readonly Field[] {
  return fields.filter(({ values, notValues }) => values.length + notValues.length > 0);
}

/** Where a caller's identity stands: in its certificate, or in the state that the end of its HBONE tunnel left. */
export type CallersBy = "certificate" | "tunnel";

export interface Matching {
  /** For connections that carry bytes: nothing is known of requests. */
  readonly tcp: boolean;
  /** A field that cannot be asked is left out, which makes the rule match more; otherwise the rule is left out. */
  readonly widens: boolean;
  /** The policy's namespace. */
  readonly namespace: string;
  /** The mesh's trust domain and its aliases. */
  readonly trustDomains: readonly string[];
  readonly callersBy?: CallersBy;
}

/** The field asks for something of an HTTP request. */
export class NotForTcp extends Error {}

const httpOnly = new Set(["hosts", "methods", "paths"]);

export function isHttpOnly(key: string): boolean {
  return httpOnly.has(key) || key.startsWith("request.");
}
