/** Draws a service and its neighbours by WebGL. Loaded when a graph is opened: it is as large as the rest of the page together. */
import Sigma from "sigma";
import type { GraphNode, Neighbourhood } from "../../contract/index.ts";
import { type ColorOf, hasEdgeLabels, isHiddenEdge, neighbourGraph, shownNode } from "./neighbour-graph.ts";

export interface DrawOptions {
  readonly element: HTMLElement;
  readonly neighbourhood: Neighbourhood;
  readonly colorOf: ColorOf;
  /** A node was clicked. */
  readonly onOpen: (node: GraphNode) => void;
}

/**
 * Draws at once; positions are the server's. Disposing of it frees the GPU's memory.
 * @throws Error where the browser has no WebGL
 */
export function drawNeighbours({ element, neighbourhood, colorOf, onOpen }: DrawOptions): Disposable {
  const graph = neighbourGraph(neighbourhood, colorOf);
  const sigma = new Sigma(graph, element, {
    defaultEdgeType: "arrow",
    renderEdgeLabels: hasEdgeLabels(neighbourhood),
    labelColor: { color: colorOf("--text") },
    edgeLabelColor: { color: colorOf("--muted") },
    labelFont: "system-ui, sans-serif",
    labelSize: 12,
    stagePadding: 40,
    zIndex: true,
    defaultDrawNodeHover: () => {},
  });
  let hovered: string | undefined;
  sigma.setSetting("nodeReducer", (id) => shownNode(graph, hovered, id, colorOf("--line")));
  sigma.setSetting("edgeReducer", (id, data) => ({ ...data, hidden: isHiddenEdge(graph, hovered, id) }));
  const hover = (id: string | undefined): void => {
    hovered = id;
    element.classList.toggle("pointed", id !== undefined);
    sigma.refresh({ skipIndexation: true });
  };
  sigma.on("enterNode", ({ node }) => hover(node));
  sigma.on("leaveNode", () => hover(undefined));
  sigma.on("clickNode", ({ node }) => {
    const found = neighbourhood.nodes.find(({ id }) => id === node);
    if (found !== undefined) onOpen(found);
  });
  return { [Symbol.dispose]: () => sigma.kill() };
}
