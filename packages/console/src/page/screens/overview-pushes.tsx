/** Pushes of the last hour: how many, how long they took, how much of it was for nothing. */
import type { VNode } from "preact";
import type { PushFigures } from "../../contract/index.ts";
import { formatBytes, formatCount, formatDuration, formatShare } from "../format/quantities.ts";
import { Chart } from "../parts/chart.tsx";
import { Empty } from "../parts/reading.tsx";
import { Panel } from "../parts/text.tsx";

/** Two charts and their sums. */
export function PushPanel({ pushes: { samples, stepMs, ...sums } }: { readonly pushes: PushFigures }): VNode {
  const times = samples.map(({ at }) => Date.parse(at));
  const total = samples.reduce((sum, { pushes }) => sum + pushes, 0);
  const bytes = samples.reduce((sum, one) => sum + one.bytes, 0);
  const step = formatDuration(stepMs);
  return (
    <Panel title="Pushes" wide>
      <dl class="facts">
        <Fact name="last hour">{formatCount(total)}</Fact>
        <Fact name="sent">{formatBytes(bytes)}</Fact>
        <Fact name="p50">{sums.p50Ms === undefined ? "–" : formatDuration(sums.p50Ms)}</Fact>
        <Fact name="p99">{sums.p99Ms === undefined ? "–" : formatDuration(sums.p99Ms)}</Fact>
        <Fact name="wasted">{sums.wastedShare === undefined ? "–" : formatShare(sums.wastedShare)}</Fact>
      </dl>
      {samples.length < 2 ? (
        <Empty>The console has not watched long enough for a chart.</Empty>
      ) : (
        <div class="charts">
          <Chart
            label={`Pushes in each ${step}`}
            times={times}
            series={[
              { label: "Pushes", values: samples.map(({ pushes }) => pushes) },
              { label: "Rejections", values: samples.map(({ rejections }) => rejections) },
            ]}
            format={formatCount}
          />
          <Chart
            label="Time from an event to its acknowledgement"
            times={times}
            series={[
              { label: "p50", values: samples.map(({ p50Ms }) => p50Ms) },
              { label: "p99", values: samples.map(({ p99Ms }) => p99Ms) },
            ]}
            format={formatDuration}
          />
        </div>
      )}
    </Panel>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: string }): VNode {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
