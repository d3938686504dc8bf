/** The Telemetry objects that hold for a proxy, from the widest to the narrowest; at every question the last that speaks wins. */
import { type Config, compareText, type TextOf, textCodec } from "@flotilla/model";
import type { MeshConfig_ExtensionProvider } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import {
  type AccessLogging,
  MetricSelector_IstioMetric as IstioMetric,
  type Metrics,
  type MetricsOverrides,
  MetricsOverrides_TagOverride_Operation as Operation,
  type Tracing_CustomTag,
  WorkloadMode,
} from "@flotilla/proto/telemetry/v1alpha1/telemetry_pb";
import type { TelemetrySpec, TracingRule } from "../config-specs.ts";
import { byNamespace } from "../row-index.ts";
import { query, type View } from "../view.ts";
import { namesGateway, namesService, type PolicySubject, subjectService } from "./policy-targets.ts";

export const telemetriesByNamespace = byNamespace<TelemetrySpec>("Telemetry");

export type TrafficSide = "inbound" | "outbound";

const scopeText = textCodec<"TelemetryScope", { readonly side: TrafficSide; readonly subject: PolicySubject }>(
  "TelemetryScope",
  " ",
  ["side", "subject"],
);

/** The traffic that Telemetry speaks of: of a proxy by its side, in a waypoint also by the service behind it. */
export type TelemetryScope = TextOf<typeof scopeText>;

/** @param subject in a waypoint the service behind it */
export function telemetryScope(side: TrafficSide, subject: PolicySubject = ""): TelemetryScope {
  return scopeText.write({ side, subject });
}

export function sideOf(scope: TelemetryScope): TrafficSide {
  return scopeText.read(scope).side;
}

function telemetriesOf(view: View, scope: TelemetryScope): readonly Config<TelemetrySpec>[] {
  return view.read(telemetries, scopeText.read(scope).subject);
}

/**
 * The oldest of the mesh, the oldest of the namespace, all that select the workload or name its Gateway. For a service behind a waypoint
 * the namespace is that of the service. Source: istiod asked.
 */
const telemetries = query<readonly Config<TelemetrySpec>[], PolicySubject>("telemetries", (view, subject) => {
  const { proxy, mesh } = view;
  const root = view.row(telemetriesByNamespace, mesh.rootNamespace);
  const service = proxy.type === "waypoint" ? subjectService(view, subject) : undefined;
  const namespace = service?.namespace ?? proxy.namespace;
  const own = namespace === mesh.rootNamespace ? root : view.row(telemetriesByNamespace, namespace);
  const ofNamespace = own === root ? undefined : own.find(isGeneral);
  if (proxy.type === "waypoint") {
    const targeted = widestFirst(own).filter(
      (one) => namesGateway(view, one) || (service !== undefined && namesService(one, service)),
    );
    return [root.find(isGeneral), ofNamespace, ...targeted].filter((one) => one !== undefined);
  }
  const ofWorkload = proxy.selecting(own.filter(isSelective), ({ spec }) => spec.selector?.matchLabels ?? {});
  const ofGateway = own.filter((telemetry) => namesGateway(view, telemetry));
  return [root.find(isGeneral), ofNamespace, ...ofWorkload, ...ofGateway].filter((one) => one !== undefined);
});

/** The Gateway, then the service. Classes are no targets of Telemetry, as in istiod. */
function widestFirst(telemetries: readonly Config<TelemetrySpec>[]): readonly Config<TelemetrySpec>[] {
  const rank = ({ spec }: Config<TelemetrySpec>) => {
    const kinds = [spec.targetRef, ...spec.targetRefs].map((target) => target?.kind);
    return kinds.includes("Service") || kinds.includes("ServiceEntry") ? 1 : 0;
  };
  return telemetries.toSorted((a, b) => rank(a) - rank(b));
}

function isSelective({ spec }: Config<TelemetrySpec>): boolean {
  return Object.keys(spec.selector?.matchLabels ?? {}).length > 0;
}

function isGeneral(config: Config<TelemetrySpec>): boolean {
  const { targetRef, targetRefs } = config.spec;
  return !isSelective(config) && targetRef === undefined && targetRefs.length === 0;
}

/** True where a rule covers the traffic that the proxy receives, respectively sends. */
function speaksOf(mode: WorkloadMode | undefined, side: TrafficSide): boolean {
  const wanted = side === "inbound" ? WorkloadMode.SERVER : WorkloadMode.CLIENT;
  return mode === undefined || mode === WorkloadMode.CLIENT_AND_SERVER || mode === wanted;
}

/** Selects the providers that log a proxy's traffic, by Telemetry of the mesh, the namespace and the workload. */
export interface LogProvider {
  readonly name: string;
  /** A CEL expression that a request has to meet; empty for every request. */
  readonly filter: string;
}

/** By name; undefined where no Telemetry states any: then the mesh's own file counts. */
export const effectiveAccessLogging = query<readonly LogProvider[] | undefined, TelemetryScope>(
  "effective-access-logging",
  (view, scope) => {
    const side = sideOf(scope);
    const defaults = view.mesh.defaultProviders?.accessLogging ?? [];
    const speaking = telemetriesOf(view, scope).filter(({ spec }) => spec.accessLogging.length > 0);
    if (speaking.length === 0)
      return defaults.length === 0 ? undefined : [...new Set(defaults)].sort().map((name) => ({ name, filter: "" }));
    const levels = speaking.map((config) => rulesOf(config, side));
    // Rules for the other side alone put the mesh's file in the place of default providers. Source: istiod asked.
    if (levels.every((rules) => rules.length === 0)) return undefined;
    // The narrowest level that names providers selects them, wider ones only decide how those log.
    const meant = new Set(levels.findLast((rules) => namesIn(rules).length > 0)?.flatMap(providerNames) ?? defaults);
    if (meant.size === 0) return undefined;
    const filters = new Map<string, string>();
    for (const rule of levels.flat())
      for (const name of providerNames(rule)) filters.set(name, rule.filter?.expression ?? "");
    const logging = new Set<string>();
    let inherited: readonly string[] = defaults;
    for (const rule of levels.flat()) {
      const names = providerNames(rule);
      inherited = names.length > 0 ? names : inherited;
      for (const name of inherited.filter((one) => meant.has(one))) {
        if (rule.disabled === true) logging.delete(name);
        else logging.add(name);
      }
    }
    return [...logging].sort().map((name) => ({ name, filter: filters.get(name) ?? "" }));
  },
  (a, b) => JSON.stringify(a) === JSON.stringify(b),
);

function rulesOf({ spec }: Config<TelemetrySpec>, side: TrafficSide): readonly AccessLogging[] {
  return spec.accessLogging.filter(({ match }) => speaksOf(match?.mode, side));
}

function namesIn(rules: readonly AccessLogging[]): readonly string[] {
  return rules.flatMap(providerNames);
}

function providerNames({ providers }: AccessLogging): readonly string[] {
  return providers.map(({ name }) => name);
}

/** Tracing of a proxy's requests, by Telemetry of the mesh, the namespace and the workload; the narrower wins. */
export interface EffectiveTracing {
  readonly disabled: boolean;
  /** Some Telemetry speaks of tracing, on whichever side: without a provider there is none then. */
  readonly isStated: boolean;
  /** Of the mesh's extension providers; empty for none. */
  readonly provider: string;
  /** Percent; undefined when no Telemetry states it. */
  readonly sampling: number | undefined;
  readonly customTags: Readonly<Record<string, Tracing_CustomTag>> | undefined;
  readonly istioTags: boolean | undefined;
  /** The decision is part of the request's id, so that every proxy on the way decides alike. */
  readonly samplesByRequestId: boolean;
  /** Requests leave the proxy without the headers of their trace. */
  readonly endsContext: boolean;
}

export const effectiveTracing = query<EffectiveTracing, TelemetryScope>("effective-tracing", (view, scope) => {
  const side = sideOf(scope);
  const stated = telemetriesOf(view, scope).flatMap(({ spec }) => spec.tracing);
  const rules = stated.filter(({ match }) => speaksOf(match?.mode, side));
  const last = <Part extends keyof TracingRule>(part: Part) =>
    rules.map((rule) => rule[part]).findLast((value) => value !== undefined);
  const [named] = rules.map(({ providers }) => providers).findLast(({ length }) => length > 0) ?? [];
  const hasTags = ({ customTags }: TracingRule) => Object.keys(customTags).length > 0;
  const tags = rules.findLast((rule) => rule.clearsTags === true || hasTags(rule));
  const provider = named?.name ?? view.mesh.defaultProviders?.tracing[0] ?? "";
  return {
    disabled: last("disableSpanReporting") ?? false,
    isStated: stated.length > 0,
    provider,
    sampling: last("randomSamplingPercentage"),
    customTags: tags && hasTags(tags) ? tags.customTags : undefined,
    istioTags: last("enableIstioTags"),
    samplesByRequestId: last("useRequestIdForTraceSampling") ?? true,
    endsContext: last("disableContextPropagation") ?? false,
  };
});

/** Metrics that a proxy reports to Prometheus of its traffic, by Telemetry of the mesh, the namespace and the workload. */
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

/** Undefined where nothing is reported. */
export const effectiveMetrics = query<EffectiveMetrics | undefined, TelemetryScope>(
  "effective-metrics",
  (view, scope) => {
    const side = sideOf(scope);
    const levels = telemetriesOf(view, scope).map(({ spec }) => spec.metrics);
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

/** As istiod finds the providers that Telemetry names: whatever the case of the name. */
export function telemetryProvider({ mesh }: View, name: string): MeshConfig_ExtensionProvider | undefined {
  return mesh.extensionProviders.find((one) => one.name.toLowerCase() === name.toLowerCase());
}

function isPrometheus(view: View, name: string): boolean {
  return telemetryProvider(view, name)?.provider.case === "prometheus";
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
    // An override of all metrics names each, even when it has no other setting; with all of them off, its tags have no effect.
    const isNamed = disabled !== true;
    if (key !== undefined && disabled !== true) allAreOff = false;
    for (const name of key === undefined ? (isNamed ? metricNames.values() : []) : [key]) {
      const draft = draftOf(name);
      // All of them off, the others need not be listed one by one: those that are on again are listed.
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
