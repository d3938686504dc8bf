/**
 * Decides whether AuthorizationPolicies of a workload admit a request or a connection, as Istio's reference describes them; not by the
 * configuration that is made of them. Source: https://istio.io/latest/docs/reference/config/security/authorization-policy/
 */

/** The identity that a certificate of the mesh proves: `spiffe://DOMAIN/ns/NAMESPACE/sa/ACCOUNT`. */
export interface Peer {
  readonly trustDomain: string;
  readonly namespace: string;
  readonly account: string;
}

export interface PolicyConnection {
  /** IPv4. */
  readonly sourceIp: string;
  readonly port?: number;
  /** Undefined in plain text, which proves no identity: nothing but its absence can be asked of it. */
  readonly peer?: Peer | undefined;
}

/** Values are texts, or lists of them. */
export type Claims = Readonly<Record<string, string | readonly string[]>>;

export interface PolicyRequest extends PolicyConnection {
  readonly method: string;
  readonly path: string;
  readonly host: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Of a token that was found valid. */
  readonly claims?: Claims | undefined;
}

export interface MeshNames {
  /** Of the policies. */
  readonly namespace: string;
  /** The mesh's and its aliases: a principal of one of them in full is meant in all. */
  readonly trustDomains: readonly string[];
}

type Values = readonly string[];

export interface Source {
  readonly principals?: Values;
  readonly notPrincipals?: Values;
  readonly namespaces?: Values;
  readonly notNamespaces?: Values;
  readonly requestPrincipals?: Values;
  readonly notRequestPrincipals?: Values;
  /** `ACCOUNT` of the policy's namespace, or `NAMESPACE/ACCOUNT`. */
  readonly serviceAccounts?: Values;
  readonly notServiceAccounts?: Values;
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
  readonly ports?: Values;
  readonly notPorts?: Values;
}

export interface Condition {
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

const ownMesh: MeshNames = { namespace: "shop", trustDomains: ["cluster.local"] };

/** Denials come first; without any ALLOW policy everything else is admitted. */
export function admits(policies: readonly Policy[], request: PolicyRequest, mesh: MeshNames = ownMesh): boolean {
  const of = (action: Policy["action"]) => policies.filter((policy) => policy.action === action);
  const matches = ({ rules = [] }: Policy) => rules.some((rule) => matchesRule(rule, request, mesh));
  if (of("DENY").some(matches)) return false;
  return of("ALLOW").length === 0 || of("ALLOW").some(matches);
}

/** A port that is not HTTP: a rule to ALLOW that asks for requests admits nothing, one to DENY is read without what it asks of them. */
export function admitsConnection(
  policies: readonly Policy[],
  connection: PolicyConnection,
  mesh: MeshNames = ownMesh,
): boolean {
  const ofConnections = policies.map(({ action, rules = [] }) => {
    const kept = rules.map(withoutRequests);
    const isSame = (rule: Rule, index: number) => JSON.stringify(rule) === JSON.stringify(rules[index]);
    return { action, rules: action === "DENY" ? kept : kept.filter(isSame) };
  });
  return admits(ofConnections, { ...connection, method: "", path: "", host: "", headers: {} }, mesh);
}

function withoutRequests({ from, to, when }: Rule): Rule {
  return {
    ...(from && { from: from.map(({ source }) => ({ source: omit(source, /requestPrincipals$/i) })) }),
    ...(to && { to: to.map(({ operation }) => ({ operation: omit(operation, /(?:hosts|methods|paths)$/i) })) }),
    ...(when && { when: when.filter(({ key }) => !key.startsWith("request.")) }),
  };
}

function omit<Shape extends object>(value: Shape, names: RegExp): Shape {
  return Object.fromEntries(Object.entries(value).filter(([name]) => !names.test(name))) as Shape;
}

function matchesRule({ from, to, when = [] }: Rule, request: PolicyRequest, mesh: MeshNames): boolean {
  return (
    (from === undefined || from.some(({ source }) => matchesSource(source, request, mesh))) &&
    (to === undefined || to.some(({ operation }) => matchesOperation(operation, request))) &&
    when.every(({ key, values, notValues }) => within(values, notValues, conditionOf(key, request, mesh)))
  );
}

function matchesSource(source: Source, request: PolicyRequest, mesh: MeshNames): boolean {
  const { sourceIp, peer } = request;
  return (
    within(source.principals, source.notPrincipals, conditionOf("source.principal", request, mesh)) &&
    within(source.requestPrincipals, source.notRequestPrincipals, (value) => isRequestPrincipal(value, request)) &&
    within(source.serviceAccounts, source.notServiceAccounts, (value) => isAccount(value, peer, mesh)) &&
    within(source.namespaces, source.notNamespaces, conditionOf("source.namespace", request, mesh)) &&
    within(source.ipBlocks, source.notIpBlocks, (block) => isInBlock(sourceIp, block))
  );
}

function matchesOperation(operation: Operation, { host, method, path, port }: PolicyRequest): boolean {
  return (
    within(operation.hosts, operation.notHosts, (value) => matchesText(value.toLowerCase(), host.toLowerCase())) &&
    within(operation.methods, operation.notMethods, (value) => matchesText(value, method)) &&
    within(operation.paths, operation.notPaths, (value) => matchesText(value, path)) &&
    within(operation.ports, operation.notPorts, (value) => value === String(port))
  );
}

/** Returns true for values of the condition that fit the request. */
function conditionOf(key: string, request: PolicyRequest, mesh: MeshNames): (value: string) => boolean {
  const { headers, claims, peer, port } = request;
  const [, kind, name = ""] = /^request\.(headers|auth\.claims)\[(.+)\]$/.exec(key) ?? [];
  const hasClaim = (claim: string) => (value: string) =>
    [claims?.[claim] ?? []].flat().some((one) => matchesText(value, one));
  if (kind === "auth.claims") return hasClaim(name);
  if (kind === "headers") {
    const header = headers[name.toLowerCase()];
    return (value) => header !== undefined && matchesText(value, header);
  }
  switch (key) {
    case "source.principal":
      return (value) => isPrincipal(value, peer, mesh);
    case "source.namespace":
      return (value) => peer !== undefined && matchesText(value, peer.namespace);
    case "request.auth.audiences":
      return hasClaim("aud");
    case "destination.port":
      return (value) => value === String(port);
    default:
      throw new Error(`conditions on ${key} are not evaluated`);
  }
}

function isPrincipal(value: string, peer: Peer | undefined, { trustDomains }: MeshNames): boolean {
  if (peer === undefined) return false;
  const ofPeer = `/ns/${peer.namespace}/sa/${peer.account}`;
  const isOfMesh = value.split("/").length === 5 && trustDomains.includes(value.slice(0, value.indexOf("/")));
  const domain = isOfMesh && trustDomains.includes(peer.trustDomain) ? value.split("/")[0] : peer.trustDomain;
  return matchesText(value, `${domain}${ofPeer}`);
}

function isAccount(value: string, peer: Peer | undefined, { namespace }: MeshNames): boolean {
  return (
    peer !== undefined &&
    `${peer.namespace}/${peer.account}` === (value.includes("/") ? value : `${namespace}/${value}`)
  );
}

/** `ISSUER/SUBJECT`. */
function isRequestPrincipal(value: string, { claims }: PolicyRequest): boolean {
  return claims !== undefined && matchesText(value, `${claims["iss"]}/${claims["sub"]}`);
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
