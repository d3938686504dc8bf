/** Draws a service and its neighbours by WebGL. Loaded when a graph is opened: it is as large as the rest of the page together. */
import { MultiDirectedGraph } from "graphology";
import Sigma from "sigma";
import type { GraphEdge, GraphNode, Neighbourhood } from "../../contract/index.ts";

/** Colours of the scheme, by the names of their variables. */
export type ColorOf = (variable: string) => string;

export interface DrawOptions {
  readonly element: HTMLElement;
  readonly neighbourhood: Neighbourhood;
  readonly colorOf: ColorOf;
  /** A node was clicked. */
  readonly onOpen: (node: GraphNode) => void;
}

const kindColors: Readonly<Record<GraphNode["kind"], string>> = {
  service: "--series-1",
  workload: "--series-3",
  gateway: "--series-2",
  external: "--muted",
};

/**
 * Draws at once; positions are the server's. Disposing of it frees the GPU's memory.
 * @throws Error where the browser has no WebGL
 */
export function drawNeighbours({ element, neighbourhood, colorOf, onOpen }: DrawOptions): Disposable {
  const { nodes, edges, service } = neighbourhood;
  const graph = new MultiDirectedGraph();
  const byId = new Map(nodes.map((node) => [node.id, node]));
  for (const node of nodes) {
    const isCenter = node.id === service.hostname || node.label === service.hostname;
    graph.addNode(node.id, {
      ...{ x: node.x, y: node.y, label: node.label, size: isCenter ? 13 : 7 },
      color: colorOf(isCenter ? "--accent" : kindColors[node.kind]),
      forceLabel: isCenter || nodes.length < 25,
    });
  }
  for (const edge of edges)
    if (byId.has(edge.from) && byId.has(edge.to))
      graph.addDirectedEdge(edge.from, edge.to, {
        ...{ size: edge.weight === undefined ? 1.5 : 1 + edge.weight / 40, label: edgeLabel(edge) },
        color: colorOf(edge.mtls === "DISABLE" ? "--bad" : edge.mtls === "PERMISSIVE" ? "--warn" : "--line-strong"),
      });
  const sigma = new Sigma(graph, element, {
    defaultEdgeType: "arrow",
    renderEdgeLabels: edges.length < 25,
    labelColor: { color: colorOf("--text") },
    edgeLabelColor: { color: colorOf("--muted") },
    labelFont: "system-ui, sans-serif",
    labelSize: 12,
    stagePadding: 40,
    zIndex: true,
    defaultDrawNodeHover: () => {},
  });
  let hovered: string | undefined;
  sigma.setSetting("nodeReducer", (id, data) => {
    const isNear = hovered === undefined || id === hovered || graph.areNeighbors(id, hovered);
    return {
      ...data,
      color: isNear ? data["color"] : colorOf("--line"),
      forceLabel: data["forceLabel"] || id === hovered,
    };
  });
  sigma.setSetting("edgeReducer", (id, data) => ({
    ...data,
    hidden: hovered !== undefined && !graph.hasExtremity(id, hovered),
  }));
  const hover = (id: string | undefined): void => {
    hovered = id;
    element.classList.toggle("pointed", id !== undefined);
    sigma.refresh({ skipIndexation: true });
  };
  sigma.on("enterNode", ({ node }) => hover(node));
  sigma.on("leaveNode", () => hover(undefined));
  sigma.on("clickNode", ({ node }) => {
    const found = byId.get(node);
    if (found !== undefined) onOpen(found);
  });
  return { [Symbol.dispose]: () => sigma.kill() };
}

function edgeLabel({ weight, object }: GraphEdge): string {
  return [weight === undefined ? "" : `${weight} %`, object ?? ""].filter((text) => text !== "").join(" ");
}
