/** What a proxy tells Prometheus of its traffic, as Telemetry of the mesh, the namespace and the workload say. */
import { compareText } from "@flotilla/model";
import {
  MetricSelector_IstioMetric as IstioMetric,
  type Metrics,
  type MetricsOverrides,
  MetricsOverrides_TagOverride_Operation as Operation,
} from "@flotilla/proto/telemetry/v1alpha1/telemetry_pb";
import { query, type View } from "../view.ts";
import { speaksOf, type TrafficSide, telemetries } from "./telemetry.ts";

export interface Metric {
  /** Of Istio's metrics, as Telemetry names them, or any other name. */
  readonly key: string;
  readonly isDropped: boolean;
  /** Expressions by tag. */
  readonly tags: Readonly<Record<string, string>>;
  readonly removedTags: readonly string[];
}

export interface EffectiveMetrics {
  /** Those that differ from the default, ordered by key. */
  readonly metrics: readonly Metric[];
  /** Seconds and nanoseconds; undefined for the default. */
  readonly reportingInterval: readonly [seconds: string, nanos: number] | undefined;
}

/** Undefined where nothing is told. */
export const effectiveMetrics = query<EffectiveMetrics | undefined, TrafficSide>(
  "effective-metrics",
  (view, side) => {
    const levels = view.read(telemetries).map(({ spec }) => spec.metrics);
    const defaults = view.mesh.defaultProviders?.metrics ?? [];
    const meant = levels.findLast((level) => level.some(({ providers }) => providers.length > 0));
    const names = meant?.flatMap(namesOf) ?? defaults;
    const prometheus = names.find((name) => isPrometheus(view, name));
    if (prometheus === undefined) return undefined;
    const rules = rulesFor(levels.flat(), prometheus, defaults);
    const collected = collect(
      rules.flatMap(({ overrides }) => overrides).filter(({ match }) => speaksOf(match?.mode, side)),
    );
    if (collected === undefined) return undefined;
    const interval = rules.findLast(({ reportingInterval }) => reportingInterval !== undefined)?.reportingInterval;
    return { metrics: collected, reportingInterval: interval && [`${interval.seconds}`, interval.nanos] };
  },
  (a, b) => JSON.stringify(a) === JSON.stringify(b),
);

function namesOf({ providers }: Metrics): readonly string[] {
  return providers.map(({ name }) => name);
}

function isPrometheus(view: View, name: string): boolean {
  return view.mesh.extensionProviders.some((one) => one.name === name && one.provider.case === "prometheus");
}

/** A rule without providers speaks of those of the rule before. */
function rulesFor(rules: readonly Metrics[], provider: string, defaults: readonly string[]): readonly Metrics[] {
  let inherited = defaults;
  return rules.filter((rule) => {
    inherited = rule.providers.length > 0 ? namesOf(rule) : inherited;
    return inherited.includes(provider);
  });
}

/** Istio's metrics by number, as Telemetry names them. */
const metricNames: ReadonlyMap<number, string> = new Map(
  Object.entries(IstioMetric)
    .filter(([name, value]) => typeof value === "number" && name !== "ALL_METRICS")
    .map(([name, value]) => [Number(value), name]),
);

interface Draft {
  isDropped: boolean;
  readonly tags: Map<string, { readonly removed: boolean; readonly value: string }>;
}

/** Undefined when all metrics are switched off, and none of them on again. */
function collect(overrides: readonly MetricsOverrides[]): readonly Metric[] | undefined {
  const drafts = new Map<string, Draft>();
  const draftOf = (key: string) => {
    const draft = drafts.get(key) ?? { isDropped: false, tags: new Map() };
    drafts.set(key, draft);
    return draft;
  };
  let allAreOff = false;
  for (const { match, disabled, tagOverrides } of overrides) {
    const key = keyOf(match?.metricMatch);
    const tags = Object.entries(tagOverrides);
    if (key === undefined && disabled !== undefined) allAreOff = disabled;
    // A word about all of them names each, even when it says nothing more; all of them off, its tags are for nothing.
    const isNamed = disabled !== true;
    if (key !== undefined && disabled !== true) allAreOff = false;
    for (const name of key === undefined ? (isNamed ? metricNames.values() : []) : [key]) {
      const draft = draftOf(name);
      // All of them off, the others need not be told one by one: those that are on again are listed.
      if (disabled !== undefined && (key !== undefined || !disabled)) draft.isDropped = disabled;
      for (const [tag, { operation, value }] of tags)
        draft.tags.set(tag, { removed: operation === Operation.REMOVE, value });
    }
  }
  return allAreOff ? undefined : [...drafts].sort(([a], [b]) => compareText(a, b)).map(metricOf);
}

function keyOf(match: NonNullable<MetricsOverrides["match"]>["metricMatch"] | undefined): string | undefined {
  if (match?.case === "customMetric") return match.value;
  return match?.case === "metric" ? metricNames.get(match.value) : undefined;
}

function metricOf([key, { isDropped, tags }]: readonly [string, Draft]): Metric {
  const all = [...tags].sort(([a], [b]) => compareText(a, b));
  return {
    key,
    isDropped,
    tags: Object.fromEntries(all.flatMap(([tag, { removed, value }]) => (removed ? [] : [[tag, value] as const]))),
    removedTags: all.flatMap(([tag, { removed }]) => (removed ? [tag] : [])),
  };
}
