/** The mesh as a graph: namespaces first, then one service with its neighbours. */
import type {
  GraphEdge,
  GraphNode,
  NamespacePage,
  Neighbourhood,
  TopologyService,
  TopologyServicePage,
} from "@flotilla/console/contract";
import { RequestRefused } from "../errors.ts";
import { type ApiRequest, type Handlers, param } from "../serve/endpoint.ts";
import { expectAnswer, type Services } from "../upstream/services.ts";
import { listOf } from "./lists.ts";
import { idsAround, layoutAround, type MeshObject, nodesOf, policiesOf, waysAround } from "./neighbours.ts";

type TopologyHandlers = Pick<
  Handlers,
  | "GET /api/v1/topology/namespaces"
  | "GET /api/v1/topology/services"
  | "GET /api/v1/topology/services/{namespace}/{hostname}"
>;

export function topologyHandlers(services: Services): TopologyHandlers {
  const service = "xds-server";
  return {
    "GET /api/v1/topology/namespaces": (request) =>
      listOf<NamespacePage>(services, { service, path: "/debug/namespaces" }, request),
    "GET /api/v1/topology/services": (request) =>
      listOf<TopologyServicePage>(services, { service, path: "/debug/services" }, request),
    "GET /api/v1/topology/services/{namespace}/{hostname}": (request) => neighbourhood(services, request),
  };
}

/** Larger graphs are unreadable. */
const maxNodes = 200;

/** Limit of the names in one request: they must fit into its URL. */
const namesOfQuestion = 50;

/** As `/debug/service_objects` of xds-server answers it. */
interface ObjectsAround {
  readonly rootNamespace: string;
  readonly objects: readonly MeshObject[];
}

async function neighbourhood(services: Services, request: ApiRequest): Promise<Neighbourhood> {
  const [namespace, hostname] = [param(request, "namespace"), param(request, "hostname")];
  const { token } = request.session;
  const query = { hostname, namespace };
  const [own, around] = await Promise.all([
    namedServices(services, token, [hostname]),
    services.first<ObjectsAround>("xds-server", { path: "/debug/service_objects", query, token }),
  ]);
  const service = own.find((one) => one.namespace === namespace);
  if (service === undefined) throw new RequestRefused("not-found", `there is no service ${hostname} in ${namespace}`);
  const { rootNamespace, objects } = expectAnswer(around);
  const { edges: all, gateways } = waysAround(service, objects);
  const ids = idsAround(service, all);
  const shown = ids.slice(0, maxNodes - 1);
  const nodes = nodesOf(shown, gateways, await namedServices(services, token, shown));
  const isShown = new Set([hostname, ...shown]);
  const edges: readonly GraphEdge[] = all.filter(({ from, to }) => isShown.has(from) && isShown.has(to));
  const center: Omit<GraphNode, "x" | "y"> = { id: hostname, label: hostname, kind: "service", namespace };
  const { policies, mtls } = policiesOf(service, objects, rootNamespace);
  return {
    ...{ service, edges, policies, mtls, away: [] },
    nodes: layoutAround(center, nodes, edges),
    omitted: ids.length - shown.length,
  };
}

/** Services of the name in all namespaces. @throws RequestRefused */
async function namedServices(
  services: Services,
  token: string,
  names: readonly string[],
): Promise<readonly TopologyService[]> {
  const parts = Array.from({ length: Math.ceil(names.length / namesOfQuestion) }, (_, at) =>
    names.slice(at * namesOfQuestion, (at + 1) * namesOfQuestion).join(","),
  );
  const answers = await Promise.all(
    parts.map((hostname) =>
      services.first<Pick<TopologyServicePage, "rows">>("xds-server", {
        ...{ path: "/debug/services", query: { hostname, limit: "200" }, token },
      }),
    ),
  );
  return answers.flatMap((answer) => expectAnswer(answer).rows);
}
