/**
 * Which VirtualServices a proxy follows. What names and reach depend on (hosts, gateways, exportTo) is kept
 * apart from the routes, so that a change of routes does not touch the selection.
 */
import { type Config, hostCovers, hostsOverlap } from "@flotilla/model";
import type { VirtualService } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import { query, type View } from "../view.ts";
import { reachOf } from "./services.ts";
import { importsByNamespace, type ListenerName, listenerOf } from "./sidecar.ts";
import { type VirtualServiceName, virtualService } from "./virtual-service.ts";

/** The gateway name that means all sidecars. */
export const meshGateway = "mesh";

export interface VirtualServiceHead {
  readonly name: VirtualServiceName;
  readonly namespace: string;
  readonly hosts: readonly string[];
  readonly gateways: readonly string[];
  readonly exportTo: readonly string[];
}

const virtualServiceHead = query<VirtualServiceHead | undefined, VirtualServiceName>(
  "virtual-service-head",
  (view, name) => {
    const config = view.read(virtualService, name);
    if (config === undefined || config.spec.hosts.length === 0) return undefined;
    const { hosts, gateways, exportTo } = config.spec;
    return {
      name,
      namespace: config.key.namespace,
      hosts,
      gateways: gateways.length === 0 ? [meshGateway] : gateways,
      exportTo: exportTo.length === 0 ? view.mesh.defaultVirtualServiceExportTo : exportTo,
    };
  },
  (a, b) => JSON.stringify(a) === JSON.stringify(b),
);

/** All VirtualServices that are no delegates, oldest first. */
export const virtualServiceHeads = query<readonly VirtualServiceHead[]>("virtual-service-heads", (view) =>
  view
    .all<VirtualService>("VirtualService")
    .map(({ key }) => view.read(virtualServiceHead, `${key.namespace}/${key.name}`))
    .filter((head) => head !== undefined),
);

/**
 * The VirtualServices that concern a gateway and are visible to a namespace (`namespace gateway`): private
 * ones, those exported to it, those of everybody; each oldest first.
 */
export const virtualServicesFor = query<readonly VirtualServiceHead[], string>(
  "virtual-services-for",
  (view, argument) => {
    const [namespace = "", gateway = ""] = argument.split(" ");
    const [own, named, everyone]: [VirtualServiceHead[], VirtualServiceHead[], VirtualServiceHead[]] = [[], [], []];
    for (const head of view.read(virtualServiceHeads)) {
      if (!head.gateways.includes(gateway)) continue;
      const reach = reachOf(head.exportTo, head.namespace, namespace);
      if (reach === "own") own.push(head);
      else if (reach === "named") named.push(head);
      else if (reach === "everyone") everyone.push(head);
    }
    return [...own, ...named, ...everyone];
  },
);

/** The heads of the VirtualServices an egress listener imports, in order of precedence. */
export const listenerHeads = query<readonly VirtualServiceHead[], ListenerName>("listener-heads", (view, listener) => {
  const { namespace, spec } = listenerOf(view, listener);
  if (spec === undefined) return [];
  const imports = importsByNamespace(spec, namespace);
  return view
    .read(virtualServicesFor, `${namespace} ${meshGateway}`)
    .filter((head) =>
      [head.namespace, "*"].some((home) =>
        imports.get(home)?.some((host) => head.hosts.some((other) => hostsOverlap(host, other))),
      ),
    );
});

/** The names of the VirtualServices an egress listener imports, in order of precedence. */
export const listenerVirtualServices = query<readonly VirtualServiceName[], ListenerName>(
  "listener-virtual-services",
  (view, listener) => view.read(listenerHeads, listener).map(({ name }) => name),
);

/** The VirtualServices of an egress listener with their routes: a change of any of them concerns the reader. */
export function importedVirtualServices(view: View, listener: ListenerName): readonly Config<VirtualService>[] {
  return view
    .read(listenerVirtualServices, listener)
    .map((name) => view.read(virtualService, name))
    .filter((config) => config !== undefined);
}

/**
 * Where a VirtualService sends traffic of a namespace's proxies (`namespace/name@namespace`), as `host` or
 * `host port,port`; without ports it needs all of them.
 */
export const virtualServiceDestinations = query<readonly string[], string>(
  "virtual-service-destinations",
  (view, argument) => {
    const [name = "", namespace = ""] = argument.split("@");
    const spec = view.read(virtualService, name)?.spec;
    const ports = new Map<string, Set<number>>();
    for (const { host, port } of spec === undefined ? [] : destinations(spec, namespace)) {
      ports.set(host, (ports.get(host) ?? new Set()).add(port?.number ?? 0));
    }
    return [...ports].map(([host, wanted]) => (wanted.has(0) ? host : `${host} ${[...wanted].join(",")}`));
  },
);

function destinations(spec: VirtualService, namespace: string) {
  const applies = ({ match }: { readonly match: readonly { readonly sourceNamespace: string }[] }) =>
    match.length === 0 || match.some((one) => one.sourceNamespace === "" || one.sourceNamespace === namespace);
  const http = spec.http
    .filter(applies)
    .flatMap(({ route, mirror, mirrors }) => [
      ...route.map(({ destination }) => destination),
      mirror,
      ...mirrors.map(({ destination }) => destination),
    ]);
  const other = [...spec.tcp.filter(applies), ...spec.tls.filter(applies)];
  const all = [...http, ...other.flatMap(({ route }) => route.map(({ destination }) => destination))];
  return all.filter((destination) => destination !== undefined);
}

/** The most specific of the hosts that covers a name; exact hosts before wildcards. */
export function mostSpecificHost(hosts: Iterable<string>, hostname: string): string | undefined {
  let best: string | undefined;
  for (const host of hosts) {
    if (host === hostname) return host;
    if (hostCovers(host, hostname) && (best === undefined || host.length > best.length)) best = host;
  }
  return best;
}
