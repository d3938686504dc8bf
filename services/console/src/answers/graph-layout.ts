/** Where the nodes of a neighbourhood stand: callers to the left, callees to the right, the service in between. Pure. */
import type { GraphEdge, GraphNode } from "@flotilla/console/contract";

type Unplaced = Omit<GraphNode, "x" | "y">;

/** In a column; a second one begins when it is full. */
const rowsOfColumn = 25;

/** The same picture for the same neighbourhood, whatever the order of its parts. */
export function layoutAround(
  center: Unplaced,
  neighbours: readonly Unplaced[],
  edges: readonly GraphEdge[],
): readonly GraphNode[] {
  const callees = new Set(edges.filter(({ from }) => from === center.id).map(({ to }) => to));
  const sorted = neighbours.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const right = sorted.filter(({ id }) => callees.has(id));
  const left = sorted.filter(({ id }) => !callees.has(id));
  return [{ ...center, x: 0, y: 0 }, ...columns(left, -1), ...columns(right, 1)];
}

function columns(nodes: readonly Unplaced[], side: 1 | -1): readonly GraphNode[] {
  const count = Math.ceil(nodes.length / rowsOfColumn);
  return nodes.map((node, index) => {
    const column = Math.floor(index / rowsOfColumn);
    const rows = Math.min(rowsOfColumn, nodes.length - column * rowsOfColumn);
    const row = index % rowsOfColumn;
    const x = side * (0.5 + (0.5 * (column + 1)) / Math.max(1, count));
    return { ...node, x, y: rows === 1 ? 0 : (2 * row) / (rows - 1) - 1 };
  });
}
