/** The fields that the chains of a service behind a waypoint have in common: telemetry and extensions as its own policies have them. */
import type { PolicySubject } from "../../../snapshot/scope/policy-targets.ts";
import { telemetryScope } from "../../../snapshot/scope/telemetry.ts";
import { query, type View } from "../../../snapshot/view.ts";
import type { ExtensionFilter } from "../../envoy/filters/extension-filters.ts";
import { istioExtensions } from "../../envoy/istio-extensions.ts";
import type { ListenerTraits, StatsFilters } from "../../envoy/listeners/listener-traits.ts";
import { accessLogs } from "../../select/access-log.ts";
import { extensionFilters } from "../../select/extensions.ts";
import { carriesBaggage } from "../../select/hbone.ts";
import { listenerTraits, samplesByRequestId, tracingTraits } from "../../select/listener-traits.ts";
import { statsFilters } from "../../select/stats.ts";

export interface WaypointTraits {
  /** Without filters whose places differ in waypoints. */
  readonly listener: ListenerTraits;
  readonly extensions: readonly ExtensionFilter[];
  readonly stats: StatsFilters;
  /** The proxy has Istio's filter that finds the workload which a request goes to. */
  readonly findsPeers: boolean;
  readonly carriesBaggage: boolean;
  /** The services behind it are sent the name of the caller in a header. */
  readonly namesCallers: boolean;
}

/** Of the Gateway, from which pods have it. */
const identityAnnotation = "ambient.istio.io/xfcc-include-client-identity";

function asksForCallers(view: View): boolean {
  return view.proxy.annotation(identityAnnotation)?.toLowerCase() === "true";
}

const noStats: StatsFilters = { http: [], network: [] };

export const waypointTraits = query<WaypointTraits, PolicySubject>("waypoint-traits", (view, subject) => {
  const scope = telemetryScope("inbound", subject);
  const base = view.read(listenerTraits);
  const own = {
    tracing: view.read(tracingTraits, scope),
    samplesByRequestId: samplesByRequestId(view, scope),
    accessLogs: view.read(accessLogs, scope),
  };
  return {
    listener: {
      ...base,
      httpMetadata: false,
      tracing: { inbound: own.tracing, outbound: undefined },
      samplesByRequestId: { inbound: own.samplesByRequestId, outbound: false },
      accessLogs: { inbound: own.accessLogs, outbound: own.accessLogs },
      stats: { inbound: noStats, outbound: noStats },
    },
    extensions: view.read(extensionFilters, subject),
    stats: view.read(statsFilters, scope),
    findsPeers: view.proxy.supports(istioExtensions.httpPeerMetadata),
    carriesBaggage: carriesBaggage(view),
    namesCallers: asksForCallers(view),
  };
});
