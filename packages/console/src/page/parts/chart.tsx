/** A time series, drawn by uPlot on a canvas, in the colours of the scheme; the same figures stand in a table for those who cannot see it. */
import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { theme } from "../state/browser.ts";

/** A line of a chart. */
export interface Series {
  readonly label: string;
  /** Undefined: nothing was measured then. */
  readonly values: readonly (number | undefined)[];
}

interface ChartProps {
  /** Description of the chart, for those who cannot see it. */
  readonly label: string;
  /** Milliseconds since 1970, ascending. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
}

const height = 132;

/** Grows with its place; redrawn when its figures or the scheme change. */
export function Chart({ label, times, series, format }: ChartProps): VNode {
  const place = useRef<HTMLDivElement>(null);
  const scheme = theme.value;
  const plot = useRef<uPlot | null>(null);
  const data = [times.map((ms) => ms / 1000), ...series.map(({ values }) => values.map((value) => value ?? null))];
  const names = series.map((one) => one.label).join();
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const drawn = new uPlot(chartOptions(element, series, format), data as unknown as uPlot.AlignedData, element);
    plot.current = drawn;
    const resized = new ResizeObserver(() => drawn.setSize({ width: element.clientWidth, height }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      drawn.destroy();
      plot.current = null;
    };
  }, [scheme, names]);
  useEffect(() => {
    plot.current?.setData(data as unknown as uPlot.AlignedData);
  });
  return <div ref={place} class="chart" role="img" aria-label={`${label}: ${summary(series, format)}`} />;
}

function chartOptions(
  element: HTMLElement,
  series: readonly Series[],
  format: (value: number) => string,
): uPlot.Options {
  const style = getComputedStyle(element);
  const color = (name: string): string => style.getPropertyValue(name).trim();
  const axis = { stroke: color("--muted"), grid: { stroke: color("--line"), width: 1 }, ticks: { show: false } };
  const font = `11px ${color("--font")}`;
  return {
    width: element.clientWidth,
    height,
    cursor: { y: false, points: { size: 6 } },
    legend: { show: true, live: true },
    scales: { y: { range: (_, low, high) => [Math.min(0, low), high > 0 ? high * 1.1 : 1] } },
    axes: [
      { ...axis, font, space: 70, values: (_, seconds) => seconds.map(shortTime) },
      { ...axis, font, size: 62, space: 28, values: (_, values) => values.map(format) },
    ],
    series: [
      { label: "Time", value: (_, seconds) => (seconds === null ? "" : shortTime(seconds)) },
      ...series.map((one, at) => ({
        label: one.label,
        stroke: color(`--series-${at + 1}`),
        width: 1.5,
        points: { show: false },
        spanGaps: false,
        value: (_: uPlot, value: number | null) => (value === null ? "–" : format(value)),
      })),
    ],
  };
}

function shortTime(seconds: number): string {
  const date = new Date(seconds * 1000);
  return `${date.getHours()}:${String(date.getMinutes()).padStart(2, "0")}`;
}

function summary(series: readonly Series[], format: (value: number) => string): string {
  return series
    .map(({ label, values }) => {
      const known = values.filter((value) => value !== undefined);
      const last = known.at(-1);
      if (last === undefined) return `${label} without values`;
      return `${label} last ${format(last)}, highest ${format(known.reduce((a, b) => Math.max(a, b), 0))}`;
    })
    .join("; ");
}
