/**
 * Whether AuthorizationPolicies of a workload admit a request in plain text, as Istio's reference describes them; not by the
 * configuration that is made of them. Source: https://istio.io/latest/docs/reference/config/security/authorization-policy/
 */

export interface PolicyRequest {
  readonly method: string;
  readonly path: string;
  readonly host: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** IPv4. */
  readonly sourceIp: string;
}

type Values = readonly string[];

export interface Source {
  readonly principals?: Values;
  readonly notPrincipals?: Values;
  readonly namespaces?: Values;
  readonly notNamespaces?: Values;
  readonly ipBlocks?: Values;
  readonly notIpBlocks?: Values;
}

export interface Operation {
  readonly hosts?: Values;
  readonly notHosts?: Values;
  readonly methods?: Values;
  readonly notMethods?: Values;
  readonly paths?: Values;
  readonly notPaths?: Values;
}

/** Of a request header: `request.headers[NAME]`. */
interface Condition {
  readonly key: string;
  readonly values?: Values;
  readonly notValues?: Values;
}

export interface Rule {
  readonly from?: readonly { readonly source: Source }[];
  readonly to?: readonly { readonly operation: Operation }[];
  readonly when?: readonly Condition[];
}

export interface Policy {
  readonly action: "ALLOW" | "DENY";
  readonly rules?: readonly Rule[];
}

/** Denials come first; without any ALLOW policy everything else is admitted. */
export function admits(policies: readonly Policy[], request: PolicyRequest): boolean {
  const of = (action: Policy["action"]) => policies.filter((policy) => policy.action === action);
  const matches = ({ rules = [] }: Policy) => rules.some((rule) => matchesRule(rule, request));
  if (of("DENY").some(matches)) return false;
  return of("ALLOW").length === 0 || of("ALLOW").some(matches);
}

function matchesRule({ from, to, when = [] }: Rule, request: PolicyRequest): boolean {
  return (
    (from === undefined || from.some(({ source }) => matchesSource(source, request))) &&
    (to === undefined || to.some(({ operation }) => matchesOperation(operation, request))) &&
    when.every((condition) => matchesCondition(condition, request))
  );
}

/** Plain text proves no identity: nothing but its absence can be asked of it. */
function matchesSource(source: Source, { sourceIp }: PolicyRequest): boolean {
  return (
    within(source.principals, source.notPrincipals, () => false) &&
    within(source.namespaces, source.notNamespaces, () => false) &&
    within(source.ipBlocks, source.notIpBlocks, (block) => isInBlock(sourceIp, block))
  );
}

function matchesOperation(operation: Operation, { host, method, path }: PolicyRequest): boolean {
  return (
    within(operation.hosts, operation.notHosts, (value) => matchesText(value.toLowerCase(), host.toLowerCase())) &&
    within(operation.methods, operation.notMethods, (value) => matchesText(value, method)) &&
    within(operation.paths, operation.notPaths, (value) => matchesText(value, path))
  );
}

function matchesCondition({ key, values, notValues }: Condition, { headers }: PolicyRequest): boolean {
  const name = /^request\.headers\[(.+)\]$/.exec(key)?.[1];
  if (name === undefined) throw new Error(`conditions on ${key} are not evaluated`);
  const header = headers[name.toLowerCase()];
  return within(values, notValues, (value) => header !== undefined && matchesText(value, header));
}

/** Any of the values and none of the others, where there are some. */
function within(values: Values = [], notValues: Values = [], matches: (value: string) => boolean): boolean {
  return (values.length === 0 || values.some(matches)) && !notValues.some(matches);
}

function matchesText(pattern: string, text: string): boolean {
  if (pattern === "*") return text !== "";
  if (pattern.endsWith("*")) return text.startsWith(pattern.slice(0, -1));
  return pattern.startsWith("*") ? text.endsWith(pattern.slice(1)) : text === pattern;
}

function isInBlock(address: string, block: string): boolean {
  const [prefix = "", length = "32"] = block.split("/");
  const bits = (text: string) =>
    text
      .split(".")
      .map((part) => Number(part).toString(2).padStart(8, "0"))
      .join("");
  return bits(address).startsWith(bits(prefix).slice(0, Number(length)));
}
