/**
 * The neighbours of a service, by configuration: hosts whose VirtualServices send requests to it, hosts that its own send requests to,
 * gateways that admit it, accounts that may call it. Pure.
 */
import type { GraphEdge, GraphNode, Neighbourhood, TopologyService } from "@flotilla/console/contract";
import { clusterDomainOf, resolveShortName } from "@flotilla/model";

/** As `/debug/configz` has it. */
export interface MeshObject {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly spec?: unknown;
}

type Node = Omit<GraphNode, "x" | "y">;

interface VirtualServiceSpec {
  readonly hosts?: readonly string[];
  readonly gateways?: readonly string[];
  readonly http?: readonly HttpRoute[];
  readonly tcp?: readonly HttpRoute[];
  readonly tls?: readonly HttpRoute[];
}

interface HttpRoute {
  readonly route?: readonly { readonly destination?: { readonly host?: string }; readonly weight?: number }[];
}

interface Way {
  readonly from: string;
  readonly to: string;
  readonly weight?: number;
  readonly object: string;
}

/** Edges from and to a service, each once, and the gateways among their ends. */
export function waysAround(
  service: Pick<TopologyService, "hostname">,
  objects: readonly MeshObject[],
): { readonly edges: readonly GraphEdge[]; readonly gateways: ReadonlySet<string> } {
  const domain = domainOf(service.hostname);
  const routes = objects.filter(({ kind }) => kind === "VirtualService");
  const ways = routes.flatMap((object) => waysOf(object, domain));
  const own = ways.filter(({ from, to }) => from === service.hostname || to === service.hostname);
  const admitted = gatewayWays(service, routes, domain);
  const edges = distinct([...own, ...admitted].filter(({ from, to }) => from !== to));
  return { edges, gateways: new Set(admitted.map(({ from }) => from)) };
}

/** The other ends of a service's edges, sorted. */
export function idsAround(
  { hostname }: Pick<TopologyService, "hostname">,
  edges: readonly GraphEdge[],
): readonly string[] {
  return [...new Set(edges.flatMap(({ from, to }) => [from, to]).filter((id) => id !== hostname))].sort();
}

/** @param services those of `ids` that are known */
export function nodesOf(
  ids: readonly string[],
  gateways: ReadonlySet<string>,
  services: readonly TopologyService[],
): readonly Node[] {
  const known = new Map(services.map((one) => [one.hostname, one]));
  return ids.map((id): Node => {
    const found = known.get(id);
    if (gateways.has(id)) return { id, label: id, kind: "gateway", namespace: id.split("/")[0] ?? "" };
    return { id, label: id, kind: found === undefined ? "external" : "service", namespace: found?.namespace ?? "" };
  });
}

/** From each host of a VirtualService to each destination of its routes. */
function waysOf(object: MeshObject, domain: string): readonly Way[] {
  const { hosts = [], http = [], tcp = [], tls = [] } = (object.spec ?? {}) as VirtualServiceSpec;
  const namespace = object.metadata.namespace ?? "";
  const name = nameOf(object);
  return [...http, ...tcp, ...tls].flatMap(({ route = [] }) =>
    route.flatMap(({ destination, weight }) =>
      hosts.flatMap((host): readonly Way[] => {
        const to = resolveShortName(destination?.host ?? "", namespace, domain);
        const way = { from: resolveShortName(host, namespace, domain), to, object: name };
        return to === "" ? [] : [weight === undefined ? way : { ...way, weight }];
      }),
    ),
  );
}

/** Gateways that a VirtualService with a route to the service is bound to. */
function gatewayWays(
  { hostname }: Pick<TopologyService, "hostname">,
  routes: readonly MeshObject[],
  domain: string,
): readonly Way[] {
  return routes
    .filter((object) => waysOf(object, domain).some(({ to }) => to === hostname))
    .flatMap((object) => {
      const { gateways = [] } = (object.spec ?? {}) as VirtualServiceSpec;
      const namespace = object.metadata.namespace ?? "";
      return gateways
        .filter((gateway) => gateway !== "mesh")
        .map((gateway) => ({
          from: gateway.includes("/") ? gateway : `${namespace}/${gateway}`,
          to: hostname,
          object: nameOf(object),
        }));
    });
}

/** DNS domain of the mesh, from the name of a service. */
function domainOf(hostname: string): string {
  return clusterDomainOf(hostname) || "cluster.local";
}

function nameOf({ kind, metadata: { name, namespace = "" } }: MeshObject): string {
  return `${kind}/${namespace}/${name}`;
}

function distinct(ways: readonly Way[]): readonly Way[] {
  return [...new Map(ways.map((way) => [JSON.stringify(way), way])).values()];
}

interface PolicySpec {
  readonly selector?: unknown;
  readonly host?: string;
  readonly action?: string;
  readonly mtls?: { readonly mode?: string };
  readonly trafficPolicy?: unknown;
}

const modes: ReadonlySet<string> = new Set(["STRICT", "PERMISSIVE", "DISABLE"]);

/** Objects of the service's namespace and of the root namespace, and the mode of mutual TLS of the nearest PeerAuthentication without a selector. */
export function policiesOf(
  service: TopologyService,
  objects: readonly MeshObject[],
  root: string,
): Pick<Neighbourhood, "policies" | "mtls"> {
  const near = objects.filter(({ metadata: { namespace } }) => namespace === service.namespace || namespace === root);
  const policies = near.flatMap((object) => {
    const summary = summaryOf(service, object);
    return summary === undefined ? [] : [{ object: nameOf(object), kind: object.kind, summary }];
  });
  const ofNamespace = (namespace: string) =>
    near.find(({ kind, metadata, spec }) => {
      return (
        kind === "PeerAuthentication" &&
        metadata.namespace === namespace &&
        (spec as PolicySpec)?.selector === undefined
      );
    });
  const mode = [ofNamespace(service.namespace), ofNamespace(root)]
    .map((object) => (object?.spec as PolicySpec | undefined)?.mtls?.mode ?? "UNSET")
    .find((one) => modes.has(one));
  return { policies, mtls: (mode ?? "PERMISSIVE") as Neighbourhood["mtls"] };
}

function summaryOf(service: TopologyService, object: MeshObject): string | undefined {
  const { selector, host = "", action = "ALLOW", mtls } = (object.spec ?? {}) as PolicySpec;
  const whom = selector === undefined ? "all workloads of the namespace" : "selected workloads of the namespace";
  switch (object.kind) {
    case "AuthorizationPolicy":
      return `${action}, ${whom}`;
    case "PeerAuthentication":
      return `mutual TLS ${mtls?.mode ?? "as around it"}, ${whom}`;
    case "RequestAuthentication":
      return `tokens of requests, ${whom}`;
    case "DestinationRule":
      return resolveShortName(host, object.metadata.namespace ?? "", domainOf(service.hostname)) === service.hostname
        ? "how the service is called"
        : undefined;
    default:
      return undefined;
  }
}

/** In a column; a second one begins when it is full. */
const rowsOfColumn = 25;

/** Callers to the left, callees to the right, the service in between: the same picture whatever the order of the parts. */
export function layoutAround(
  center: Node,
  neighbours: readonly Node[],
  edges: readonly GraphEdge[],
): readonly GraphNode[] {
  const callees = new Set(edges.filter(({ from }) => from === center.id).map(({ to }) => to));
  const sorted = neighbours.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const right = sorted.filter(({ id }) => callees.has(id));
  const left = sorted.filter(({ id }) => !callees.has(id));
  return [{ ...center, x: 0, y: 0 }, ...columns(left, -1), ...columns(right, 1)];
}

function columns(nodes: readonly Node[], side: 1 | -1): readonly GraphNode[] {
  const count = Math.ceil(nodes.length / rowsOfColumn);
  return nodes.map((node, index) => {
    const column = Math.floor(index / rowsOfColumn);
    const rows = Math.min(rowsOfColumn, nodes.length - column * rowsOfColumn);
    const row = index % rowsOfColumn;
    const x = side * (0.5 + (0.5 * (column + 1)) / Math.max(1, count));
    return { ...node, x, y: rows === 1 ? 0 : (2 * row) / (rows - 1) - 1 };
  });
}
