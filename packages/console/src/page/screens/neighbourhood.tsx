/** A service, its callers and the services that it calls: as a drawing, and as an equivalent table. */
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { GraphEdge, GraphNode, Neighbourhood } from "../../contract/index.ts";
import { counted, formatCount } from "../format/quantities.ts";
import { Table } from "../parts/list.tsx";
import { Answered, useAnswer } from "../parts/reading.tsx";
import { ObjectLink, Panel, State } from "../parts/text.tsx";
import { router, theme } from "../state/browser.ts";
import { type ScreenProps, servicePath, wayPath } from "../state/places.ts";
import { pathOf } from "../state/router.ts";

/** `/topology/:namespace/:hostname` */
export function NeighbourhoodScreen({ names }: ScreenProps): VNode {
  const [namespace = "", hostname = ""] = [names.get("namespace"), names.get("hostname")];
  const shown = useAnswer("GET /api/v1/topology/services/{namespace}/{hostname}", {
    names: { namespace, hostname },
    topics: ["generation", "fleet"],
  });
  return (
    <>
      <nav class="trail" aria-label="Place">
        <a href="/topology">Topology</a> / <a href={pathOf("topology", namespace)}>{namespace}</a>
      </nav>
      <h1>{hostname}</h1>
      <Answered shown={shown} what="the service">
        {(neighbourhood) => (
          <>
            <Summary neighbourhood={neighbourhood} />
            <Drawing neighbourhood={neighbourhood} />
            <Policies policies={neighbourhood.policies} />
            <Ways neighbourhood={neighbourhood} />
          </>
        )}
      </Answered>
    </>
  );
}

function Summary({ neighbourhood: { service, mtls, omitted } }: { readonly neighbourhood: Neighbourhood }): VNode {
  const { ports, endpoints, healthy, registry } = service;
  return (
    <div class="summary">
      <span>
        mTLS <State state={mtls} />
      </span>
      <span>{ports.map(({ name, number, protocol }) => `${name} ${number} ${protocol}`).join(", ")}</span>
      <span>
        {formatCount(healthy)} of {counted(endpoints, "endpoint")} healthy
      </span>
      <span>{registry}</span>
      <a href={wayPath({ host: service.hostname, ...(ports[0] && { port: String(ports[0].number) }) })}>
        What a request to it would meet
      </a>
      {omitted > 0 && <span class="tag warn">{counted(omitted, "neighbour")} left out</span>}
    </div>
  );
}

/** Loads the drawing's code, and draws anew for other neighbours or another scheme. */
function Drawing({ neighbourhood }: { readonly neighbourhood: Neighbourhood }): VNode {
  const place = useRef<HTMLDivElement>(null);
  const [failure, setFailure] = useState("");
  const scheme = theme.value;
  const content = JSON.stringify([neighbourhood.nodes, neighbourhood.edges]);
  // Content stands for the neighbourhood.
  useEffect(() => {
    let drawing: Disposable | undefined;
    let isGone = false;
    const draw = async (): Promise<void> => {
      const { drawNeighbours } = await import("../graph/draw-neighbours.ts");
      const element = place.current;
      if (isGone || element === null) return;
      const style = getComputedStyle(element);
      drawing = drawNeighbours({
        element,
        neighbourhood,
        colorOf: (variable) => style.getPropertyValue(variable).trim(),
        onOpen: ({ kind, namespace, id }) => {
          if (kind === "service" || kind === "external") router.go(servicePath(namespace, id));
        },
      });
    };
    draw().catch((error: unknown) => setFailure(error instanceof Error ? error.message : String(error)));
    return () => {
      isGone = true;
      drawing?.[Symbol.dispose]();
    };
  }, [content, scheme]);
  return (
    <>
      {failure !== "" && (
        <p class="notice warn" role="status">
          The drawing is not shown: {failure}. The table below has the same.
        </p>
      )}
      <div
        ref={place}
        class="graph"
        role="img"
        aria-label="Drawing of the neighbours; the table of ways has the same"
      />
      <ul class="legend" aria-label="Colours">
        <li class="service">service</li>
        <li class="gateway">gateway</li>
        <li class="workload">workload</li>
        <li class="external">outside of the mesh</li>
        <li class="permissive">way with mTLS where possible</li>
        <li class="plain">way without mTLS</li>
      </ul>
    </>
  );
}

function Policies({ policies }: { readonly policies: Neighbourhood["policies"] }): VNode {
  return (
    <Panel title="Policies">
      <Table
        caption="Objects that apply to the service"
        rows={policies}
        keyOf={({ object, summary }) => `${object} ${summary}`}
        empty="No object applies to it."
        columns={[
          { title: "Object", cell: ({ object }) => <ObjectLink object={object} /> },
          { title: "Decides", kind: "wide", cell: ({ summary }) => summary },
        ]}
      />
    </Panel>
  );
}

function Ways({ neighbourhood: { nodes, edges } }: { readonly neighbourhood: Neighbourhood }): VNode {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  return (
    <Panel title={`Ways: ${formatCount(edges.length)}`}>
      <Table
        caption="Ways that requests may take"
        rows={edges}
        keyOf={({ from, to, object, weight }: GraphEdge) => `${from} ${to} ${object} ${weight}`}
        empty="No way leads to or from it."
        columns={[
          { title: "From", cell: ({ from }) => <NodeLink id={from} node={byId.get(from)} /> },
          { title: "To", cell: ({ to }) => <NodeLink id={to} node={byId.get(to)} /> },
          { title: "Share", kind: "number", cell: ({ weight }) => weight !== undefined && `${weight} %` },
          { title: "mTLS", cell: ({ mtls }) => mtls !== undefined && <State state={mtls} /> },
          {
            title: "Made by",
            kind: "minor",
            cell: ({ object }) => object !== undefined && <ObjectLink object={object} />,
          },
        ]}
      />
    </Panel>
  );
}

function NodeLink({ id, node }: { readonly id: string; readonly node: GraphNode | undefined }): VNode {
  if (node === undefined) return <span>{id}</span>;
  if (node.kind === "workload" || node.kind === "gateway") return <span>{node.label}</span>;
  return <a href={servicePath(node.namespace, id)}>{node.label}</a>;
}
