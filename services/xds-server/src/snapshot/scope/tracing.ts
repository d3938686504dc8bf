/** Tracing of a proxy's requests, as Telemetry of the mesh, the namespace and the workload say; the narrower wins. */
import type { Config } from "@flotilla/model";
import {
  type Telemetry,
  type Tracing,
  type Tracing_CustomTag,
  WorkloadMode,
} from "@flotilla/proto/telemetry/v1alpha1/telemetry_pb";
import { byNamespace } from "../row-index.ts";
import { query, type View } from "../view.ts";

export interface EffectiveTracing {
  readonly disabled: boolean;
  /** Of the mesh's extension providers; empty for none. */
  readonly provider: string;
  /** Percent; undefined when no Telemetry says. */
  readonly sampling: number | undefined;
  readonly customTags: Readonly<Record<string, Tracing_CustomTag>> | undefined;
  readonly istioTags: boolean;
}

export const telemetriesByNamespace = byNamespace<Telemetry>("Telemetry");

export const effectiveTracing = query<EffectiveTracing, "inbound" | "outbound">(
  "effective-tracing",
  (view, direction) => {
    const mode = direction === "inbound" ? WorkloadMode.SERVER : WorkloadMode.CLIENT;
    const rules = telemetries(view)
      .flatMap(({ spec }) => spec.tracing)
      .filter(({ match }) => [undefined, WorkloadMode.CLIENT_AND_SERVER, mode].includes(match?.mode));
    const last = <Part extends keyof Tracing>(part: Part) =>
      rules.map((rule) => rule[part]).findLast((value) => value !== undefined);
    const [named] = rules.map(({ providers }) => providers).findLast(({ length }) => length > 0) ?? [];
    const tags = rules.map(({ customTags }) => customTags).findLast((some) => Object.keys(some).length > 0);
    return {
      disabled: last("disableSpanReporting") ?? false,
      provider: named?.name ?? view.mesh.defaultProviders?.tracing[0] ?? "",
      sampling: last("randomSamplingPercentage"),
      customTags: tags,
      istioTags: last("enableIstioTags") ?? true,
    };
  },
);

/** At most one of the mesh, one of the namespace, one that selects the workload. */
function telemetries(view: View): readonly Config<Telemetry>[] {
  const { proxy, mesh } = view;
  const root = view.row(telemetriesByNamespace, mesh.rootNamespace);
  const own = proxy.namespace === mesh.rootNamespace ? root : view.row(telemetriesByNamespace, proxy.namespace);
  const isGeneral = ({ spec }: Config<Telemetry>) =>
    spec.selector === undefined && spec.targetRef === undefined && spec.targetRefs.length === 0;
  const ofMesh = root.find(isGeneral);
  const ofNamespace = own === root ? undefined : own.find(isGeneral);
  const ofWorkload = own.find(({ spec }) => spec.selector && proxy.matches(spec.selector.matchLabels));
  return [ofMesh, ofNamespace, ofWorkload].filter((one) => one !== undefined);
}
