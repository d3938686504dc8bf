/** The Telemetry objects that hold for a proxy, from the widest to the narrowest; at every question the last that speaks wins. */
import type { Config } from "@flotilla/model";
import { type Telemetry, WorkloadMode } from "@flotilla/proto/telemetry/v1alpha1/telemetry_pb";
import { byNamespace } from "../row-index.ts";
import { query } from "../view.ts";

export const telemetriesByNamespace = byNamespace<Telemetry>("Telemetry");

export type TrafficSide = "inbound" | "outbound";

/** The oldest of the mesh, the oldest of the namespace, all that select the workload. */
export const telemetries = query<readonly Config<Telemetry>[]>("telemetries", (view) => {
  const { proxy, mesh } = view;
  const root = view.row(telemetriesByNamespace, mesh.rootNamespace);
  const own = proxy.namespace === mesh.rootNamespace ? root : view.row(telemetriesByNamespace, proxy.namespace);
  const ofNamespace = own === root ? undefined : own.find(isGeneral);
  const ofWorkload = proxy.selecting(own.filter(isSelective), ({ spec }) => spec.selector?.matchLabels ?? {});
  return [root.find(isGeneral), ofNamespace, ...ofWorkload].filter((one) => one !== undefined);
});

function isSelective({ spec }: Config<Telemetry>): boolean {
  return Object.keys(spec.selector?.matchLabels ?? {}).length > 0;
}

function isGeneral(config: Config<Telemetry>): boolean {
  const { targetRef, targetRefs } = config.spec;
  return !isSelective(config) && targetRef === undefined && targetRefs.length === 0;
}

/** Whether a rule speaks of what the proxy receives, respectively sends. */
export function speaksOf(mode: WorkloadMode | undefined, side: TrafficSide): boolean {
  const wanted = side === "inbound" ? WorkloadMode.SERVER : WorkloadMode.CLIENT;
  return mode === undefined || mode === WorkloadMode.CLIENT_AND_SERVER || mode === wanted;
}
