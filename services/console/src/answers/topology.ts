/** The mesh as a graph: namespaces first, then one service with its neighbours. */
import type {
  GraphEdge,
  GraphNode,
  NamespacePage,
  NamespaceRow,
  Neighbourhood,
  TopologyService,
  TopologyServicePage,
} from "@flotilla/console/contract";
import type { ListShape } from "@flotilla/http";
import { ownValue } from "@flotilla/model";
import { RequestRefused } from "../errors.ts";
import { type ApiRequest, type Handlers, param } from "../serve/endpoint.ts";
import { expectAnswer, type Services } from "../upstream/services.ts";
import { cut } from "./lists.ts";
import { layoutAround, type MeshObject, neighboursOf, policiesOf } from "./neighbours.ts";

type TopologyHandlers = Pick<
  Handlers,
  | "GET /api/v1/topology/namespaces"
  | "GET /api/v1/topology/services"
  | "GET /api/v1/topology/services/{namespace}/{hostname}"
>;

export function topologyHandlers(services: Services): TopologyHandlers {
  return {
    "GET /api/v1/topology/namespaces": (request) => namespaces(services, request),
    "GET /api/v1/topology/services": async (request) =>
      cut(await meshServices(services, request), serviceShape, request.query) as TopologyServicePage,
    "GET /api/v1/topology/services/{namespace}/{hostname}": (request) => neighbourhood(services, request),
  };
}

/** As `/debug/registryz` of xds-server has a service. */
interface RegistryService {
  readonly hostname: string;
  readonly Attributes: { readonly Namespace?: string; readonly ServiceRegistry?: string };
  readonly ports?: readonly { readonly name?: string; readonly port: number; readonly protocol: string }[];
}

/** As `/debug/endpointShardz` has the endpoints: host → namespace → shards. */
type EndpointShards = Readonly<
  Record<
    string,
    Readonly<
      Record<string, { readonly Shards: Readonly<Record<string, readonly { readonly HealthStatus?: number }[]>> }>
    >
  >
>;

async function meshServices(
  services: Services,
  { session: { token } }: ApiRequest,
): Promise<readonly TopologyService[]> {
  const [registry, shards] = await Promise.all([
    services.first<readonly RegistryService[]>("xds-server", { path: "/debug/registryz", token }),
    services.first<EndpointShards>("xds-server", { path: "/debug/endpointShardz", token }),
  ]);
  const known = shards.isAnswered ? shards.value : {};
  return expectAnswer(registry).map(({ hostname, Attributes, ports = [] }) => {
    const namespace = Attributes.Namespace ?? "";
    const endpoints = Object.values(ownValue(ownValue(known, hostname) ?? {}, namespace)?.Shards ?? {}).flat();
    return {
      ...{ hostname, namespace, registry: Attributes.ServiceRegistry ?? "" },
      ports: ports.map(({ name = "", port: number, protocol }) => ({ name, number, protocol })),
      endpoints: endpoints.length,
      healthy: endpoints.filter(({ HealthStatus = 0 }) => HealthStatus === 0 || HealthStatus === 1).length,
    };
  });
}

const serviceShape: ListShape<TopologyService, "namespace" | "registry"> = {
  columns: {
    hostname: ({ hostname }) => hostname,
    namespace: ({ namespace }) => namespace,
    endpoints: ({ endpoints }) => endpoints,
  },
  facets: { namespace: ({ namespace }) => namespace, registry: ({ registry }) => registry },
  text: ({ hostname, namespace, registry, ports }) =>
    [hostname, namespace, registry, ...ports.map(({ name, number }) => `${name} ${number}`)].join(" "),
  sort: "hostname",
};

const namespaceShape: ListShape<NamespaceRow> = {
  columns: {
    namespace: ({ namespace }) => namespace,
    services: ({ services }) => services,
    workloads: ({ proxies }) => proxies,
  },
  facets: {},
  text: ({ namespace }) => namespace,
  sort: "namespace",
};

const policyKinds: ReadonlySet<string> = new Set([
  "AuthorizationPolicy",
  "PeerAuthentication",
  "RequestAuthentication",
]);

async function namespaces(services: Services, request: ApiRequest): Promise<NamespacePage> {
  const { token } = request.session;
  const [all, objects, fleet] = await Promise.all([
    meshServices(services, request),
    meshObjects(services, token),
    services.first<{
      readonly facets: { readonly namespace: readonly { readonly value: string; readonly count: number }[] };
    }>("xds-server", { path: "/debug/fleet", query: { limit: "1" }, token }),
  ]);
  const proxies = new Map(
    (fleet.isAnswered ? fleet.value.facets.namespace : []).map(({ value, count }) => [value, count]),
  );
  const policies = objects.filter(({ kind }) => policyKinds.has(kind));
  const names = new Set([
    ...all.map((one) => one.namespace),
    ...proxies.keys(),
    ...policies.map((one) => one.metadata.namespace ?? ""),
  ]);
  const rows = [...names].map(
    (namespace): NamespaceRow => ({
      namespace,
      services: all.filter((one) => one.namespace === namespace).length,
      proxies: proxies.get(namespace) ?? 0,
      policies: policies.filter((one) => one.metadata.namespace === namespace).length,
    }),
  );
  return cut(rows, namespaceShape, request.query);
}

async function meshObjects(services: Services, token: string): Promise<readonly MeshObject[]> {
  return expectAnswer(await services.first<readonly MeshObject[]>("xds-server", { path: "/debug/configz", token }));
}

/** A picture of more shows nothing. */
const maxNodes = 200;

async function neighbourhood(services: Services, request: ApiRequest): Promise<Neighbourhood> {
  const [namespace, hostname] = [param(request, "namespace"), param(request, "hostname")];
  const [all, objects] = await Promise.all([
    meshServices(services, request),
    meshObjects(services, request.session.token),
  ]);
  const service = all.find((one) => one.hostname === hostname && one.namespace === namespace);
  if (service === undefined) throw new RequestRefused("not-found", `there is no service ${hostname} in ${namespace}`);
  const found = neighboursOf(service, { services: all, objects });
  const shown = found.nodes.slice(0, maxNodes - 1);
  const ids = new Set([hostname, ...shown.map(({ id }) => id)]);
  const center: Omit<GraphNode, "x" | "y"> = { id: hostname, label: hostname, kind: "service", namespace };
  const edges: readonly GraphEdge[] = found.edges.filter(({ from, to }) => ids.has(from) && ids.has(to));
  const { policies, mtls } = policiesOf(service, objects);
  return {
    ...{ service, edges, policies, mtls, away: [] },
    nodes: layoutAround(center, shown, edges),
    omitted: found.nodes.length - shown.length,
  };
}
