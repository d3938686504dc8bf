/** A service and its neighbours as a graph with sizes, colours and labels, and what of it is shown while a node is pointed at. Without a browser. */
import { MultiDirectedGraph } from "graphology";
import type { GraphEdge, GraphNode, Neighbourhood } from "../../contract/index.ts";

/** Colours of the scheme, by the names of their variables. */
export type ColorOf = (variable: string) => string;

interface NodeAttributes {
  readonly x: number;
  readonly y: number;
  readonly label: string;
  readonly size: number;
  readonly color: string;
  readonly forceLabel: boolean;
}

interface EdgeAttributes {
  readonly size: number;
  readonly label: string;
  readonly color: string;
}

type NeighbourGraph = MultiDirectedGraph<NodeAttributes, EdgeAttributes>;

const kindColors: Readonly<Record<GraphNode["kind"], string>> = {
  service: "--series-1",
  workload: "--series-3",
  gateway: "--series-2",
  external: "--muted",
};

/** With more nodes or edges than this, labels stand in each other's way. */
const labelledAtMost = 24;

export function hasEdgeLabels({ edges }: Neighbourhood): boolean {
  return edges.length <= labelledAtMost;
}

/** Edges to nodes that were left out are left out too. */
export function neighbourGraph({ nodes, edges, service }: Neighbourhood, colorOf: ColorOf): NeighbourGraph {
  const graph: NeighbourGraph = new MultiDirectedGraph();
  for (const node of nodes) {
    const isCenter = node.id === service.hostname || node.label === service.hostname;
    graph.addNode(node.id, {
      ...{ x: node.x, y: node.y, label: node.label, size: isCenter ? 13 : 7 },
      color: colorOf(isCenter ? "--accent" : kindColors[node.kind]),
      forceLabel: isCenter || nodes.length <= labelledAtMost,
    });
  }
  for (const edge of edges)
    if (graph.hasNode(edge.from) && graph.hasNode(edge.to))
      graph.addDirectedEdge(edge.from, edge.to, {
        ...{ size: edge.weight === undefined ? 1.5 : 1 + edge.weight / 40, label: edgeLabel(edge) },
        color: colorOf(edge.mtls === "DISABLE" ? "--bad" : edge.mtls === "PERMISSIVE" ? "--warn" : "--line-strong"),
      });
  return graph;
}

function edgeLabel({ weight, object }: GraphEdge): string {
  return [weight === undefined ? "" : `${weight} %`, object ?? ""].filter((text) => text !== "").join(" ");
}

/** How a node is shown while `pointedAt` is pointed at: those that it is not connected with are dimmed. */
export function shownNode(
  graph: NeighbourGraph,
  pointedAt: string | undefined,
  id: string,
  dimmed: string,
): NodeAttributes {
  const data = graph.getNodeAttributes(id);
  const isNear = pointedAt === undefined || id === pointedAt || graph.areNeighbors(id, pointedAt);
  return { ...data, color: isNear ? data.color : dimmed, forceLabel: data.forceLabel || id === pointedAt };
}

/** Only the edges of the node that is pointed at are shown, if there is one. */
export function isHiddenEdge(graph: NeighbourGraph, pointedAt: string | undefined, edge: string): boolean {
  return pointedAt !== undefined && !graph.hasExtremity(edge, pointedAt);
}
