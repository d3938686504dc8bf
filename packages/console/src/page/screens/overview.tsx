/** The state of the control plane at a glance; each figure leads to the screen that lists what it counts. */
import type { VNode } from "preact";
import type { AwayService, Overview, ReplicaState } from "../../contract/index.ts";
import { formatCount } from "../format/quantities.ts";
import { Table } from "../parts/list.tsx";
import { Answered, Empty, metricsEveryMs, useAnswer } from "../parts/reading.tsx";
import { Ago, Figure, ObjectLink, Panel, State } from "../parts/text.tsx";
import { formatAddress } from "../state/router.ts";
import { PushPanel } from "./overview-pushes.tsx";

/** `/` */
export function OverviewScreen(): VNode {
  const shown = useAnswer("GET /api/v1/overview", { everyMs: metricsEveryMs });
  return (
    <>
      <h1>Overview</h1>
      <Answered shown={shown} what="the overview">
        {(overview) => (
          <>
            <Figures overview={overview} />
            <div class="panels">
              <ReplicaPanel replicas={overview.services} generation={overview.generation} />
              <FleetPanel overview={overview} />
              <RejectionPanel overview={overview} />
              <PushPanel pushes={overview.pushes} />
              <ProblemPanel overview={overview} />
            </div>
          </>
        )}
      </Answered>
    </>
  );
}

/** False while no replica of a service answers: then a count of 0 means nothing. */
function isKnown({ services, away }: Overview, name: AwayService["service"]): boolean {
  return (
    !away.some(({ service }) => service === name) ||
    services.some((one) => one.service === name && one.state !== "away")
  );
}

function Figures({ overview }: { readonly overview: Overview }): VNode {
  const { generation, proxies, objects, rejectionCount, problemCounts } = overview;
  const behind = proxies.total - proxies.byState.synced;
  const ofFleet = (count: number): string => (isKnown(overview, "xds-server") ? formatCount(count) : "–");
  const ofConfig = (count: number): string => (isKnown(overview, "config-controller") ? formatCount(count) : "–");
  return (
    <div class="figures">
      <Figure value={generation === undefined ? "–" : formatCount(generation)} href="/changes">
        generation
      </Figure>
      <Figure value={ofFleet(proxies.total)} href="/proxies">
        proxies connected
      </Figure>
      <Figure
        value={ofFleet(behind)}
        tone={behind === 0 ? "good" : "warn"}
        href={behind === 0 ? "/proxies" : "/proxies?sort=state"}
      >
        not in sync
      </Figure>
      <Figure value={ofConfig(rejectionCount)} tone={rejectionCount === 0 ? "good" : "bad"} href="/rejections">
        rejections
      </Figure>
      <Figure value={ofConfig(objects.total)} href="/objects">
        objects
      </Figure>
      <Figure
        value={ofConfig(objects.refused + objects.rejected)}
        tone={objects.refused + objects.rejected === 0 ? "good" : "bad"}
        href="/objects?sort=state"
      >
        objects not in force
      </Figure>
      <Figure value={ofConfig(problemCounts.error)} tone={problemCounts.error === 0 ? "good" : "bad"}>
        errors
      </Figure>
      <Figure value={ofConfig(problemCounts.warning)} tone={problemCounts.warning === 0 ? "good" : "warn"}>
        warnings
      </Figure>
    </div>
  );
}

interface ReplicaPanelProps {
  readonly replicas: readonly ReplicaState[];
  readonly generation: number | undefined;
}

function ReplicaPanel({ replicas, generation: latest }: ReplicaPanelProps): VNode {
  return (
    <Panel title="Control plane" wide>
      <Table
        caption="Replicas of the services"
        rows={replicas}
        keyOf={({ service, replica }) => `${service} ${replica}`}
        columns={[
          { title: "Service", cell: ({ service }) => service },
          { title: "Replica", kind: "minor", cell: ({ replica }) => replica },
          { title: "State", cell: ({ state, detail }) => <State state={state} title={detail} /> },
          { title: "Detail", kind: "minor", cell: ({ detail }) => <span class="muted">{detail}</span> },
          {
            title: "Generation",
            kind: "number",
            cell: ({ generation }) => <Generation generation={generation} latest={latest} />,
          },
          {
            title: "Proxies",
            kind: "number",
            cell: ({ proxies }) => (proxies === undefined ? "" : formatCount(proxies)),
          },
          { title: "Version", kind: "minor", cell: ({ version }) => version },
          { title: "Started", kind: "number", cell: ({ startedAt }) => <Ago at={startedAt} /> },
        ]}
      />
    </Panel>
  );
}

function Generation(props: {
  readonly generation: number | undefined;
  readonly latest: number | undefined;
}): VNode | null {
  const { generation, latest } = props;
  if (generation === undefined) return null;
  const behind = latest === undefined ? 0 : latest - generation;
  return (
    <span>
      {formatCount(generation)}
      {behind > 0 && <span class="tag warn">{formatCount(behind)} behind</span>}
    </span>
  );
}

function FleetPanel({ overview }: { readonly overview: Overview }): VNode {
  const { total, byState, byType, byVersion, byReplica } = overview.proxies;
  return (
    <Panel title="Proxies">
      {total === 0 ? (
        <Empty>
          {isKnown(overview, "xds-server") ? "No proxy is connected." : "Unknown: xds-server is unreachable."}
        </Empty>
      ) : (
        <div class="shares">
          <Shares title="State" name="state" counts={byState} total={total} />
          <Shares title="Type" name="type" counts={byType} total={total} />
          <Shares title="Version" name="version" counts={byVersion} total={total} />
          <Shares title="Replica" name="replica" counts={byReplica} total={total} />
        </div>
      )}
    </Panel>
  );
}

interface SharesProps {
  readonly title: string;
  /** The filter of the list of proxies. */
  readonly name: string;
  readonly counts: Readonly<Record<string, number>>;
  readonly total: number;
}

function Shares({ title, name, counts, total }: SharesProps): VNode {
  const rows = Object.entries(counts).filter(([, count]) => count > 0);
  return (
    <div>
      <h3>{title}</h3>
      <ul class="bars">
        {rows
          .toSorted(([, a], [, b]) => b - a)
          .slice(0, 6)
          .map(([value, count]) => (
            <li key={value}>
              <a href={formatAddress("/proxies", new Map([[name, value]]))}>{value === "" ? "(none)" : value}</a>
              <meter min={0} max={total} value={count} aria-label={`${value}: ${count} of ${total}`} />
              <span>{formatCount(count)}</span>
            </li>
          ))}
      </ul>
    </div>
  );
}

const configIsAway = "Unknown: config-controller is unreachable.";

function RejectionPanel({ overview }: { readonly overview: Overview }): VNode {
  const { rejections, rejectionCount } = overview;
  return (
    <Panel
      title="Rejections"
      aside={rejectionCount > rejections.length && <a href="/rejections">all {rejectionCount}</a>}
    >
      <Table
        caption="Current rejections"
        rows={rejections}
        keyOf={({ object, type }) => `${object} ${type}`}
        empty={isKnown(overview, "config-controller") ? "No proxy rejects anything." : configIsAway}
        columns={[
          {
            title: "Object",
            cell: ({ object, type }) => (object === undefined ? type : <ObjectLink object={object} />),
          },
          { title: "Message", kind: "wide", cell: ({ message }) => <span class="words">{message}</span> },
          { title: "Proxies", kind: "number", cell: ({ proxyCount }) => formatCount(proxyCount) },
          { title: "Last", kind: "number", cell: ({ lastAt }) => <Ago at={lastAt} /> },
        ]}
      />
    </Panel>
  );
}

function ProblemPanel({ overview }: { readonly overview: Overview }): VNode {
  return (
    <Panel title="Problems" wide>
      <Table
        caption="Problems that need attention"
        rows={overview.problems}
        keyOf={({ service, object, field, reason }) => `${service} ${object} ${field} ${reason}`}
        empty={isKnown(overview, "config-controller") ? "Nothing to look at." : configIsAway}
        columns={[
          { title: "Severity", cell: ({ severity }) => <State state={severity} /> },
          { title: "Object", cell: ({ object }) => object !== undefined && <ObjectLink object={object} /> },
          { title: "Field", kind: "minor", cell: ({ field }) => field !== undefined && <code>{field}</code> },
          { title: "Reason", kind: "wide", cell: ({ reason }) => reason },
          { title: "Service", kind: "minor", cell: ({ service }) => service },
        ]}
      />
    </Panel>
  );
}
