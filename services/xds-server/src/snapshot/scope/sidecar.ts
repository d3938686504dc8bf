/** Selects the Sidecar resource that applies to a proxy, and reads its settings, independent of the existing services. */
import {
  type Config,
  clusterName,
  hostCovers,
  isWildcard,
  parseProtocol,
  type TextOf,
  textCodec,
} from "@flotilla/model";
import { create } from "@flotilla/proto";
import { MeshConfig_OutboundTrafficPolicy_Mode } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import {
  type IstioEgressListener,
  IstioEgressListenerSchema,
  type OutboundTrafficPolicy,
  OutboundTrafficPolicy_Mode,
  OutboundTrafficPolicySchema,
  type Sidecar,
} from "@flotilla/proto/networking/v1alpha3/sidecar_pb";
import { byNamespace } from "../row-index.ts";
import { query, type View } from "../view.ts";

export const sidecarsByNamespace = byNamespace<Sidecar>("Sidecar");

/** The Sidecar of the proxy: one that selects it, else its namespace's, else the root namespace's. Gateways have none. */
export const sidecarOf = query<Config<Sidecar> | undefined>("sidecar", (view) => {
  if (view.proxy.type !== "sidecar") return undefined;
  const own = view.row(sidecarsByNamespace, view.proxy.namespace);
  const selective = own.filter(({ spec }) => spec.workloadSelector !== undefined);
  const selecting = view.proxy.firstSelecting(selective, ({ spec }) => spec.workloadSelector?.labels ?? {});
  if (selecting !== undefined) return selecting;
  const isDefault = ({ spec }: Config<Sidecar>) => spec.workloadSelector === undefined;
  return own.find(isDefault) ?? view.row(sidecarsByNamespace, view.mesh.rootNamespace).find(isDefault);
});

/**
 * Names what decides the scope: a namespace, the Sidecar with its own namespace, which are empty where there is none, and
 * whether it is a router's. As an argument it lets proxies of different kinds share whatever follows from it.
 */
const scopeText = textCodec("ScopeName", "|", ["namespace", "home", "sidecar", "type"]);
export type ScopeName = TextOf<typeof scopeText>;

export const scopeName = query<ScopeName>("scope-name", (view) => {
  const sidecar = view.read(sidecarOf);
  const { namespace: home = "", name = "" } = sidecar?.key ?? {};
  const type = view.proxy.type === "router" ? "router" : "";
  return scopeText.write({ namespace: view.proxy.namespace, home, sidecar: name, type });
});

function scopeSidecar(view: View, scope: ScopeName): Config<Sidecar> | undefined {
  const { home, sidecar } = scopeText.read(scope);
  return sidecar === "" ? undefined : view.config<Sidecar>("Sidecar", home, sidecar);
}

const everything: readonly IstioEgressListener[] = [create(IstioEgressListenerSchema, { hosts: ["*/*"] })];

function egressSpecs(view: View, scope: ScopeName): readonly IstioEgressListener[] {
  const egress = scopeSidecar(view, scope)?.spec.egress ?? [];
  return egress.length === 0 ? everything : egress;
}

/** One egress listener of a scope, by its place in it. */
const listenerText = textCodec<"ListenerName", { readonly scope: ScopeName; readonly index: string }>(
  "ListenerName",
  "#",
  ["scope", "index"],
);
export type ListenerName = TextOf<typeof listenerText>;

export interface EgressListener {
  readonly name: ListenerName;
  /** The Sidecar's listener, or one that imports everything. Without a port it is the catch-all. */
  readonly spec: IstioEgressListener;
}

/** The egress listeners of a scope, in order; one that imports everything when none is stated. */
export function egressListeners(view: View, scope: ScopeName): readonly EgressListener[] {
  return egressSpecs(view, scope).map((spec, index) => ({ name: listenerText.write({ scope, index }), spec }));
}

/** The egress listeners of the proxy, in order. */
export function proxyEgressListeners(view: View): readonly EgressListener[] {
  return egressListeners(view, view.read(scopeName));
}

/** The listener of a name, and whose scope it is part of. */
export function listenerOf(
  view: View,
  listener: ListenerName,
): { readonly namespace: string; readonly isOfRouter: boolean; readonly spec: IstioEgressListener | undefined } {
  const { scope, index } = listenerText.read(listener);
  const { namespace, type } = scopeText.read(scope);
  return { namespace, isOfRouter: type === "router", spec: egressSpecs(view, scope)[Number(index)] };
}

/** The hosts that a listener imports and those that it excludes again (`~ns/host`), by the namespace they are of (`*`: any). */
export interface ListenerHosts {
  /** Of a namespace and of any. */
  readonly importedFrom: (namespace: string) => readonly string[];
  /** Those that stand beside the one that imports a host: of the namespace, else of any. */
  readonly importedBeside: (namespace: string, host: string) => readonly string[];
  readonly isExcluded: (namespace: string, host: string) => boolean;
  /** Each host is a name within a namespace: no wildcard of either. */
  readonly isExact: boolean;
}

export function listenerHosts(spec: IstioEgressListener, own: string): ListenerHosts {
  const [imported, excluded] = [new Map<string, string[]>(), new Map<string, string[]>()];
  for (const entry of spec.hosts) {
    const [scope = "", host, rest] = entry.split("/");
    if (host === undefined || rest !== undefined) continue;
    const isExclusion = excludes(entry);
    const home = isExclusion ? scope.slice(1) || "*" : scope;
    const hosts = isExclusion ? excluded : imported;
    const from = home === "." ? own : home;
    hosts.set(from, [...(hosts.get(from) ?? []), host]);
  }
  const of = (hosts: ReadonlyMap<string, readonly string[]>, namespace: string) =>
    [namespace, "*"].flatMap((home) => hosts.get(home) ?? []);
  return {
    importedFrom: (namespace) => of(imported, namespace),
    importedBeside: (namespace, host) =>
      [namespace, "*"]
        .map((home) => imported.get(home) ?? [])
        .find((some) => some.some((other) => hostCovers(other, host))) ?? [],
    isExact: [...imported].every(([home, hosts]) => home !== "*" && !hosts.some(isWildcard)),
    isExcluded: (namespace, host) =>
      excluded.size > 0 && of(excluded, namespace).some((other) => hostCovers(other, host)),
  };
}

/** True for an entry of a listener's hosts that takes out what others import. */
export function excludes(entry: string): boolean {
  return entry.startsWith("~");
}

/** The port a listener narrows its services to. A forward proxy takes all ports. */
export function listenerPort(spec: IstioEgressListener): number | undefined {
  const port = spec.port;
  return port === undefined || port.number === 0 || parseProtocol(port.protocol) === "HTTP_PROXY"
    ? undefined
    : port.number;
}

/** The treatment of traffic for hosts that are not in scope: the Sidecar's setting, else the mesh's. */
const outboundTrafficPolicy = query<OutboundTrafficPolicy | undefined>("outbound-traffic-policy", (view) => {
  const own = view.read(sidecarOf)?.spec.outboundTrafficPolicy;
  if (own !== undefined) return own;
  const mode: MeshConfig_OutboundTrafficPolicy_Mode | undefined = view.mesh.outboundTrafficPolicy?.mode;
  return mode === undefined ? undefined : create(OutboundTrafficPolicySchema, { mode: mode as number });
});

/** The cluster that takes traffic for hosts that are not in scope. */
export const fallbackCluster = query<string>("fallback-cluster", (view) => {
  const policy = view.read(outboundTrafficPolicy);
  if (policy?.mode === OutboundTrafficPolicy_Mode.REGISTRY_ONLY) return "BlackHoleCluster";
  // A mode that MeshConfig alone has; its number is free in a Sidecar.
  const mode: number | undefined = policy?.mode;
  if (mode === MeshConfig_OutboundTrafficPolicy_Mode.ALLOW_ANY_DYNAMIC_DNS && view.proxy.type === "sidecar")
    return "AllowAnyDynamicDNSCluster";
  const proxy = policy?.egressProxy;
  return proxy === undefined
    ? "PassthroughCluster"
    : clusterName("outbound", proxy.port?.number ?? 0, proxy.subset, proxy.host);
});
