/**
 * `pnpm bench:core [SERVICES…]`: what views cost in the pure core, on one core — everything for a new view, one
 * VirtualService edit and one endpoint change with fifty views, heap. A view here is a namespace of its own. Beside each
 * figure stand its goal and what istiod takes; medians of nine rounds, the worst in brackets.
 */
import { loadavg } from "node:os";
import type { Change } from "@flotilla/model";
import { loadMesh } from "@flotilla/registry";
import { Core } from "../src/app/core.ts";
import { createCoreSource } from "../src/app/core-source.ts";
import { applyOptionsOf } from "../src/testing/apply-options.ts";
import { BenchView } from "./bench-view.ts";
import { meshObjects, virtualServiceOf } from "./mesh-objects.ts";

const viewCount = 50;
const rounds = 9;

interface Figure {
  readonly figure: string;
  readonly value: string;
  readonly goal: string;
  readonly istiod: string;
}

/** By number of services; a goal or figure that is not stated is absent. */
const goals: Readonly<Record<number, { readonly cold?: string; readonly istiod?: string }>> = {
  500: { cold: "≤ 150 ms", istiod: "36–42 ms for each proxy" },
  2000: { cold: "≤ 600 ms", istiod: "187–195 ms for each proxy" },
};

const sizes = process.argv.slice(2).map(Number);
for (const services of sizes.length > 0 ? sizes : [500, 2000]) {
  process.stdout.write(`\n${services} services, ${viewCount} views, load average ${loadavg()[0]?.toFixed(1)}\n`);
  console.table(measure(services));
}

function measure(services: number): readonly Figure[] {
  const changes = loadMesh(meshObjects(services));
  const heapBefore = heapMb();
  const core = new Core();
  const source = createCoreSource(core);
  source.apply(changes, applyOptionsOf(changes, 1));
  const heapInputs = heapMb();
  const cold = coldViews(changes);
  const first = new BenchView(source, 0, "a");
  const firstMs = timed(() => first.readAll());
  const second = timed(() => new BenchView(source, 1, "a").readAll());
  const views = [first, ...Array.from({ length: viewCount - 1 }, (_, i) => new BenchView(source, i + 2, `n${i}`))];
  const readAll = () => {
    for (const view of views) view.readAll();
  };
  const more = timed(readAll) / (viewCount - 1);
  const heapViews = heapMb();
  let position = 1;
  const afterChange = (change: readonly Change[]) =>
    timed(() => {
      source.apply(change, applyOptionsOf(change, ++position));
      readAll();
    });
  const edits = repeat((round) => afterChange(virtualServiceChange(`mark-${round}`)));
  const endpoints = repeat((round) => afterChange(endpointChange(changes, round)));
  const { cold: goal = "", istiod = "" } = goals[services] ?? {};
  const { shared, total } = bytesHeld(views);
  return [
    { figure: "everything for one new view, nothing warm", value: text([...cold, firstMs]), goal, istiod },
    { figure: "everything for a second proxy of it", value: `${second.toFixed(1)} ms`, goal: "", istiod },
    { figure: "each further view", value: `${more.toFixed(1)} ms`, goal: "", istiod },
    {
      figure: `VirtualService edit, ${viewCount} views: select, build, encode`,
      value: text(edits),
      goal: "≤ 15 ms",
      istiod: "",
    },
    {
      figure: "endpoint change, a view",
      value: text(endpoints.map((ms) => ms / viewCount)),
      goal: "≤ 1 ms",
      istiod: "",
    },
    {
      figure: "heap a service in the snapshot",
      value: `${(((heapInputs - heapBefore) * 1000) / services).toFixed(1)} kB`,
      goal: "≤ 6 kB",
      istiod: "",
    },
    { figure: `heap of ${viewCount} views`, value: `${(heapViews - heapInputs).toFixed(0)} MB`, goal: "", istiod: "" },
    {
      figure: "encoded bytes kept, of all that the views hold",
      value: `${megabytes(shared)} of ${megabytes(total)}`,
      goal: "distinct contents once",
      istiod: "",
    },
  ];
}

/** New cores, so that no view finds anything computed. */
function coldViews(changes: readonly Change[]): readonly number[] {
  return repeat(() => {
    const source = createCoreSource(new Core());
    source.apply(changes, applyOptionsOf(changes, 1));
    const view = new BenchView(source, 0, "a");
    return timed(() => view.readAll());
  });
}

function bytesHeld(views: readonly BenchView[]): { readonly shared: number; readonly total: number } {
  const resources = views.flatMap((view) => view.resources());
  const sizes = new Map(resources.map((resource) => [resource, resource.bytes.length]));
  const sum = (lengths: Iterable<number>) => [...lengths].reduce((all, length) => all + length, 0);
  return { shared: sum(sizes.values()), total: sum(resources.map((resource) => sizes.get(resource) ?? 0)) };
}

function virtualServiceChange(mark: string): readonly Change[] {
  return loadMesh([virtualServiceOf(0, mark)]).filter(
    ({ type, key }) => type === "config" && "kind" in key && key.kind === "VirtualService",
  );
}

/** One of the endpoints moves to another zone, as when a pod is replaced. */
function endpointChange(changes: readonly Change[], round: number): readonly Change[] {
  const found = changes.find((change) => change.type === "endpoints" && change.op === "put" && change.value.length > 0);
  if (found?.type !== "endpoints" || found.op !== "put") throw new Error("the mesh has no endpoints");
  const [first, ...others] = found.value;
  if (first === undefined) throw new Error("the mesh has no endpoints");
  const moved = { ...first, locality: `region/zone-${round}` };
  return [{ ...found, value: [moved, ...others] }];
}

function repeat(measureOne: (round: number) => number): readonly number[] {
  return Array.from({ length: rounds }, (_, round) => measureOne(round));
}

function timed(work: () => void): number {
  const started = performance.now();
  work();
  return performance.now() - started;
}

function text(ms: readonly number[]): string {
  const sorted = [...ms].sort((a, b) => a - b);
  const [median = 0, worst = 0] = [sorted[sorted.length >> 1], sorted.at(-1)];
  return `${median.toFixed(1)} ms (${worst.toFixed(1)})`;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

function heapMb(): number {
  const { gc } = globalThis as { gc?: () => void };
  if (gc === undefined) throw new Error("start with --expose-gc, as pnpm bench:core does");
  gc();
  return process.memoryUsage().heapUsed / 1e6;
}
