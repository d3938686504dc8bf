/** The graph of a service and its neighbours, and what is dimmed while a node is pointed at. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { GraphEdge, GraphNode, Neighbourhood } from "../../contract/index.ts";
import { hasEdgeLabels, isHiddenEdge, neighbourGraph, shownNode } from "./neighbour-graph.ts";

const node = (id: string, kind: GraphNode["kind"] = "service", label = id): GraphNode => ({
  ...{ id, label, kind, namespace: "shop", x: 0.5, y: -0.5 },
});
const service: Neighbourhood["service"] = {
  ...({} as Neighbourhood["service"]),
  hostname: "web.shop.svc.cluster.local",
};
const neighbourhood = (nodes: readonly GraphNode[], edges: readonly GraphEdge[] = []): Neighbourhood => ({
  ...({} as Neighbourhood),
  ...{ service, nodes, edges },
});
const graphOf = (nodes: readonly GraphNode[], edges?: readonly GraphEdge[]) =>
  neighbourGraph(neighbourhood(nodes, edges), (variable) => `color ${variable}`);
const many = (count: number) => Array.from({ length: count }, (_, i) => node(`n${i}`));

describe("the graph of a service and its neighbours", () => {
  it("has the nodes where the server puts them, in the colours of their kinds", () => {
    const kinds = ["service", "workload", "gateway", "external"] as const;
    const graph = graphOf(kinds.map((kind) => node(kind, kind)));
    assert.deepEqual(
      kinds.map((kind) => graph.getNodeAttributes(kind)),
      ["--series-1", "--series-3", "--series-2", "--muted"].map((color, i) => ({
        ...{ x: 0.5, y: -0.5, label: kinds[i], size: 7, color: `color ${color}`, forceLabel: true },
      })),
    );
  });

  it("shows the service larger and in a colour of its own, by its id or its label", () => {
    for (const own of [node(service.hostname), node("s1", "service", service.hostname)]) {
      const { size, color } = graphOf([own, node("other")]).getNodeAttributes(own.id);
      assert.deepEqual([size, color], [13, "color --accent"]);
    }
  });

  it("labels all of up to 24 nodes and edges, of more only the service", () => {
    const labelled = (count: number) => {
      const graph = graphOf([node(service.hostname), ...many(count - 1)]);
      return graph.nodes().filter((id) => graph.getNodeAttribute(id, "forceLabel") === true);
    };
    assert.equal(labelled(24).length, 24);
    assert.deepEqual(labelled(25), [service.hostname]);
    const edges = (count: number) => Array.from({ length: count }, () => ({ from: "a", to: "b" }));
    assert.deepEqual(
      [24, 25].map((count) => hasEdgeLabels(neighbourhood([], edges(count)))),
      [true, false],
    );
  });

  const edges: readonly (readonly [edge: Partial<GraphEdge>, size: number, label: string, color: string])[] = [
    [{}, 1.5, "", "--line-strong"],
    [{ weight: 80, mtls: "STRICT" }, 3, "80 %", "--line-strong"],
    [{ weight: 0, mtls: "PERMISSIVE", object: "VirtualService/shop/web" }, 1, "0 % VirtualService/shop/web", "--warn"],
    [{ object: "VirtualService/shop/web", mtls: "DISABLE" }, 1.5, "VirtualService/shop/web", "--bad"],
  ];
  for (const [edge, size, label, color] of edges)
    it(`draws ${JSON.stringify(edge)} ${size} wide with the label "${label}"`, () => {
      const graph = graphOf([node("a"), node("b")], [{ from: "a", to: "b", ...edge }]);
      assert.deepEqual(
        graph.mapEdges((_, attributes) => attributes),
        [{ size, label, color: `color ${color}` }],
      );
    });

  it("leaves out edges of nodes that were left out, and keeps two of the same nodes", () => {
    const ends = [
      ["a", "b"],
      ["a", "b"],
      ["b", "a"],
      ["a", "none"],
      ["none", "a"],
    ] as const;
    const graph = graphOf(
      [node("a"), node("b")],
      ends.map(([from, to]) => ({ from, to })),
    );
    assert.deepEqual(
      graph.mapEdges((_, __, from, to) => `${from} ${to}`),
      ["a b", "a b", "b a"],
    );
  });
});

describe("a node that is pointed at", () => {
  const graph = graphOf(
    [...many(25), node("far")],
    [
      { from: "n0", to: "n1" },
      { from: "n2", to: "n0" },
      { from: "n1", to: "n2" },
    ],
  );
  const shown = (pointedAt: string | undefined, id: string) => {
    const { color, forceLabel, size } = shownNode(graph, pointedAt, id, "dim");
    assert.equal(size, 7);
    return [color === "dim", forceLabel];
  };

  it("has its label, and dims all but its neighbours", () => {
    assert.deepEqual(
      ["n0", "n1", "n2", "far"].map((id) => shown("n0", id)),
      [
        [false, true],
        [false, false],
        [false, false],
        [true, false],
      ],
    );
  });
  it("hides the edges of others", () => {
    assert.deepEqual(
      graph.mapEdges((edge) => isHiddenEdge(graph, "n0", edge)),
      [false, false, true],
    );
  });
  it("is none at first: nothing is dimmed or hidden", () => {
    assert.deepEqual(shown(undefined, "far"), [false, false]);
    assert.deepEqual(
      graph.mapEdges((edge) => isHiddenEdge(graph, undefined, edge)),
      [false, false, false],
    );
  });
});
