/** One listener of a Gateway or a ListenerSet: who may attach to it, the server of Istio that it stands for, and what is wrong with it. */
import { type ConfigKey, hbonePort, hostsOverlap, matchesSelector, ownValue } from "@flotilla/model";
import { create } from "@flotilla/proto";
import {
  ServerTLSSettings_TLSmode as Mode,
  type Server,
  ServerSchema,
  type ServerTLSSettings,
} from "@flotilla/proto/networking/v1alpha3/gateway_pb";
import type { Problem } from "./conditions.ts";
import type { ServedClass } from "./gateway-classes.ts";
import {
  type ClientValidation,
  gatewayGroup,
  type ListenerSpec,
  type NamespaceHead,
  type NamespaceSelection,
} from "./gateway-spec.ts";
import { type CredentialLookups, listenerTls } from "./listener-tls.ts";
import type { RouteKind } from "./route-spec.ts";

export interface ListenerLookups extends CredentialLookups {
  readonly namespaces: () => readonly NamespaceHead[];
}

export interface ListenerPlan {
  /** The Gateway or ListenerSet. */
  readonly owner: ConfigKey;
  readonly name: string;
  readonly port: number;
  readonly protocol: string;
  /** "": any. */
  readonly hostname: string;
  /** Those whose routes may attach, sorted; `*` is all. */
  readonly namespaces: readonly string[];
  readonly kinds: readonly RouteKind[];
  /** Problems that keep it from serving or from accepting all kinds. */
  readonly problems: ListenerProblems;
  /** Absent where it serves nothing. */
  readonly server?: Server;
  /** Clients whose certificate cannot be verified are let in. */
  readonly isInsecure: boolean;
}

/** By type of condition. */
export interface ListenerProblems {
  readonly accepted?: Problem;
  readonly conflicted?: Problem;
  readonly programmed?: Problem;
  readonly resolvedRefs?: Problem;
}

export interface ListenerOwner {
  readonly key: ConfigKey;
  readonly kind: "Gateway" | "ListenerSet";
  readonly served: ServedClass;
  readonly labels: Readonly<Record<string, string>>;
  readonly validationOf: (port: number) => ClientValidation | undefined;
}

const badTls: Problem = { reason: "Invalid", message: "Bad TLS configuration" };
/** Of a Gateway that is the way into a network: its TLS listener on this port leads to services by SNI. */
const networkLabel = "topology.istio.io/network";
const networkPortLabel = "networking.istio.io/gatewayPort";
const usualNetworkPort = "15443";

export function planListener(listener: ListenerSpec, owner: ListenerOwner, lookups: ListenerLookups): ListenerPlan {
  const { name, port = 0, protocol = "", hostname = "", allowedRoutes = {} } = listener;
  const namespaces = allowedNamespaces(allowedRoutes.namespaces, owner.key.namespace, lookups.namespaces);
  const supported = supportedKinds(protocol, listener.tls?.mode, owner.served);
  const kinds = allowedKinds(allowedRoutes.kinds ?? [], supported);
  const found = tlsOf(listener, owner, lookups);
  const unserved = protocolProblem(listener, owner.served);
  const accepted = unserved ?? found.accepted;
  const resolvedRefs =
    found.resolvedRefs ??
    (kinds.length < (allowedRoutes.kinds?.length ?? 0)
      ? { reason: "InvalidRouteKinds", message: "Invalid route kinds" }
      : undefined);
  const isServing = servesRoutes(owner.served, protocol) && accepted === undefined && found.isUsable;
  return {
    owner: owner.key,
    ...{ name, port, protocol, hostname, namespaces, kinds },
    problems: {
      ...(accepted && { accepted }),
      ...(found.isBroken && { programmed: badTls }),
      ...(resolvedRefs && { resolvedRefs }),
    },
    ...(isServing && { server: serverOf({ port, protocol, hostname, namespaces }, found.tls) }),
    isInsecure: found.isInsecure,
  };
}

interface TlsFinding {
  readonly tls?: ServerTLSSettings;
  readonly accepted?: Problem;
  readonly resolvedRefs?: Problem;
  readonly isUsable: boolean;
  readonly isBroken: boolean;
  readonly isInsecure: boolean;
}

function tlsOf(listener: ListenerSpec, owner: ListenerOwner, lookups: ListenerLookups): TlsFinding {
  const needsTls = listener.protocol === "HTTPS" || listener.protocol === "TLS";
  if (!needsTls) return { isUsable: true, isBroken: false, isInsecure: false };
  if (listener.tls === undefined) {
    if (owner.kind === "Gateway") return { isUsable: false, isBroken: false, isInsecure: false };
    const message = `protocol is ${listener.protocol} but no TLS section is defined`;
    const accepted = { reason: "UnsupportedProtocol", message };
    return { accepted, isUsable: false, isBroken: true, isInsecure: false };
  }
  const place = { kind: owner.kind, namespace: owner.key.namespace };
  const {
    tls,
    problem,
    isInsecure = false,
  } = listenerTls(listener, place, owner.validationOf(listener.port ?? 0), lookups);
  if (problem !== undefined) return { ...problem, isUsable: false, isBroken: true, isInsecure: false };
  const networkPort = ownValue(owner.labels, networkPortLabel) ?? usualNetworkPort;
  const isNetworkPort = ownValue(owner.labels, networkLabel) !== undefined && networkPort === String(listener.port);
  const isAuto = tls?.mode === Mode.PASSTHROUGH && isNetworkPort;
  return {
    ...(tls && { tls: isAuto ? { ...tls, mode: Mode.AUTO_PASSTHROUGH } : tls }),
    ...{ isUsable: true, isBroken: false, isInsecure },
  };
}

/** Waypoints are configured by what they are for, not by listeners. */
function servesRoutes({ role }: ServedClass, protocol: string): boolean {
  return role === "ingress" || (role === "east-west" && protocol !== "HBONE");
}

const protocols: ReadonlySet<string> = new Set(["HTTP", "HTTPS", "TCP", "TLS"]);
const protocolsWithUdp: ReadonlySet<string> = new Set([...protocols, "UDP"]);

function protocolProblem(
  { protocol = "", port, tls }: ListenerSpec,
  { role, udpRoutes }: ServedClass,
): Problem | undefined {
  const unsupported = (message: string): Problem => ({ reason: "UnsupportedProtocol", message });
  const isHbone = protocol === "HBONE" && port === hbonePort;
  if (role === "waypoint")
    return isHbone ? undefined : unsupported('Expected a single listener on port 15008 with protocol "HBONE"');
  if (role === "east-west") {
    const isKnown = isHbone ? tls?.mode === "Terminate" : protocol === "TLS" && tls?.mode === "Passthrough";
    const expected = `either port 15008 with protocol "HBONE" and TLS.Mode == Terminate, or TLS with TLS.Mode == Passthrough`;
    return isKnown ? undefined : unsupported(`East-west gateway listeners must be ${expected}`);
  }
  const supported = udpRoutes ? protocolsWithUdp : protocols;
  if (supported.has(protocol)) return undefined;
  if (protocol === "HBONE") return unsupported('protocol "HBONE" is only supported for waypoint proxies');
  const upper = protocol.toUpperCase();
  const hint = supported.has(upper) ? `. hint: "${upper}" (uppercase) may be supported` : "";
  return unsupported(`protocol "${protocol}" is unsupported${hint}`);
}

function supportedKinds(
  protocol: string,
  tlsMode: string | undefined,
  { udpRoutes }: ServedClass,
): readonly RouteKind[] {
  if (protocol === "HTTP" || protocol === "HTTPS") return ["HTTPRoute", "GRPCRoute"];
  if (protocol === "TCP") return ["TCPRoute"];
  if (protocol === "UDP" && udpRoutes) return ["UDPRoute"];
  if (protocol !== "TLS") return [];
  return tlsMode === "Terminate" ? ["TLSRoute", "TCPRoute"] : ["TLSRoute"];
}

function allowedKinds(
  asked: readonly { readonly group?: string; readonly kind?: string }[],
  supported: readonly RouteKind[],
): readonly RouteKind[] {
  if (asked.length === 0) return supported;
  return asked.flatMap(({ group = gatewayGroup, kind }) =>
    group === gatewayGroup ? supported.filter((one) => one === kind) : [],
  );
}

const nameLabel = "kubernetes.io/metadata.name";

/** `home` is the namespace of the listener. Sorted; `*` is all. */
export function allowedNamespaces(
  { from = "Same", selector = {} }: NamespaceSelection = {},
  home: string,
  namespaces: () => readonly NamespaceHead[],
): readonly string[] {
  if (from === "All") return ["*"];
  if (from === "Same") return [home];
  if (from !== "Selector") return [];
  const { matchLabels = {}, matchExpressions = [] } = selector;
  const [[label, only] = []] = Object.entries(matchLabels);
  // A name needs no Namespace to be known.
  if (label === nameLabel && Object.keys(matchLabels).length === 1 && matchExpressions.length === 0)
    return [only ?? ""];
  return namespaces()
    .filter(({ name, labels }) => matchesSelector(selector, { [nameLabel]: name, ...labels }))
    .map(({ name }) => name)
    .sort();
}

function serverOf(
  { port, protocol, hostname, namespaces }: Pick<ListenerPlan, "port" | "protocol" | "hostname" | "namespaces">,
  tls: ServerTLSSettings | undefined,
): Server {
  const host = hostname === "" ? "*" : hostname;
  // `~` is no namespace: the listener serves no route.
  const homes = namespaces.length === 0 ? ["~"] : namespaces;
  return create(ServerSchema, {
    port: { name: "default", number: port, protocol },
    hosts: homes.map((home) => `${home}/${host}`),
    ...(tls && { tls }),
  });
}

type Kept = Pick<ListenerPlan, "port" | "protocol" | "hostname">;

const conflictMessage = "Listener has a conflict with another listener attached to the same Gateway";

/** Of listeners that cannot be distinguished the first serves, in the order given. */
export function withConflicts(listeners: readonly ListenerPlan[]): readonly ListenerPlan[] {
  const kept = new Map<string, Kept[]>();
  return listeners.map((listener) => {
    if (listener.problems.accepted?.reason === "UnsupportedProtocol") return listener;
    const place = `${listener.port}/${listener.protocol === "UDP" ? "UDP" : "TCP"}`;
    const others = kept.get(place) ?? [];
    const reason = others.map((other) => conflictOf(listener, other)).find((one) => one !== undefined);
    if (reason === undefined) {
      kept.set(place, [...others, listener]);
      return listener;
    }
    const { server: _, ...rest } = listener;
    return { ...rest, problems: { conflicted: { reason, message: conflictMessage } } };
  });
}

/**
 * Connections are distinguished by their server name, so plain HTTP stands beside TLS where it follows it, for connections without TLS.
 *
 * differs: istiod accepts TLS behind plain HTTP too, with a status that says so, but serves none of it.
 */
function conflictOf(later: Kept, earlier: Kept): string | undefined {
  if (hasHosts(later) !== hasHosts(earlier) || !hasHosts(later)) return "ProtocolConflict";
  if (later.hostname === earlier.hostname)
    return later.protocol === earlier.protocol ? "HostnameConflict" : "ProtocolConflict";
  return earlier.protocol === "HTTP" && later.protocol !== "HTTP" ? "ProtocolConflict" : undefined;
}

function hasHosts({ protocol }: Kept): boolean {
  return protocol === "HTTP" || protocol === "HTTPS" || protocol === "TLS";
}

/** True where a route's host name is among those of a listener. */
export function isHostOf({ hostname }: Kept, host: string): boolean {
  return hostname === "" || hostsOverlap(hostname, host);
}
