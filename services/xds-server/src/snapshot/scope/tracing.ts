/** Tracing of a proxy's requests, as Telemetry of the mesh, the namespace and the workload say; the narrower wins. */
import type { Tracing, Tracing_CustomTag } from "@flotilla/proto/telemetry/v1alpha1/telemetry_pb";
import { query } from "../view.ts";
import { speaksOf, type TrafficSide, telemetries } from "./telemetry.ts";

export interface EffectiveTracing {
  readonly disabled: boolean;
  /** Some Telemetry speaks of tracing, on whichever side: without a provider there is none then. */
  readonly isStated: boolean;
  /** Of the mesh's extension providers; empty for none. */
  readonly provider: string;
  /** Percent; undefined when no Telemetry says. */
  readonly sampling: number | undefined;
  readonly customTags: Readonly<Record<string, Tracing_CustomTag>> | undefined;
  readonly istioTags: boolean | undefined;
  /** The decision is part of the request's id, so that every proxy on the way decides alike. */
  readonly samplesByRequestId: boolean;
}

export const effectiveTracing = query<EffectiveTracing, TrafficSide>("effective-tracing", (view, side) => {
  const stated = view.read(telemetries).flatMap(({ spec }) => spec.tracing);
  const rules = stated.filter(({ match }) => speaksOf(match?.mode, side));
  const last = <Part extends keyof Tracing>(part: Part) =>
    rules.map((rule) => rule[part]).findLast((value) => value !== undefined);
  const [named] = rules.map(({ providers }) => providers).findLast(({ length }) => length > 0) ?? [];
  const tags = rules.map(({ customTags }) => customTags).findLast((some) => Object.keys(some).length > 0);
  const provider = named?.name ?? view.mesh.defaultProviders?.tracing[0] ?? "";
  return {
    disabled: last("disableSpanReporting") ?? false,
    isStated: stated.length > 0,
    provider,
    sampling: last("randomSamplingPercentage"),
    customTags: tags,
    istioTags: last("enableIstioTags"),
    // Without a provider nothing is traced, and istiod leaves the default.
    samplesByRequestId: provider === "" || (last("useRequestIdForTraceSampling") ?? true),
  };
});
