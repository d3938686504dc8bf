/** The aggregated discovery service, with its settings. */
import { randomUUID } from "node:crypto";
import { aliasesOf } from "@flotilla/auth/cluster";
import { releaseMemory, releaseWhenQuiet } from "@flotilla/runtime";
import manifest from "../../package.json" with { type: "json" };
import { type AdsOptions, AdsServer } from "../serve/ads-server.ts";
import type { ConnectedStreams } from "../serve/connected-streams.ts";
import { defaultAdsLimits, defaultStreamLimits } from "../serve/stream-context.ts";
import type { StreamMetrics } from "../serve/stream-metrics.ts";
import type { Settings, XdsService } from "../settings.ts";
import { ownConfigProblems } from "../snapshot/own-proxy-config.ts";
import type { ChangeFlow } from "./change-flow.ts";
import type { ServedMesh } from "./mesh.ts";
import type { Observers } from "./observers.ts";

export interface AdsParts {
  /** Pod or host name of this replica. */
  readonly replica: string;
  readonly mesh: ServedMesh;
  readonly flow: ChangeFlow;
  readonly observers: Observers;
  readonly connected: ConnectedStreams;
  readonly metrics: StreamMetrics;
}

export function createAdsServer({ settings, log }: XdsService, parts: AdsParts): AdsServer {
  const { replica, mesh, flow, observers, connected, metrics } = parts;
  return new AdsServer({
    ...{ connected, metrics, log },
    source: mesh.source,
    scheduler: flow.queue,
    deliveries: flow.deliveries,
    debug: observers.debug.answers,
    observer: observers.streams,
    limits: limitsOf(settings),
    now: () => performance.now(),
    isReady: () => mesh.isComplete,
    noncePrefix: randomUUID().slice(0, 8),
    server: serverIdentifier(replica),
    unreadable: ownConfigProblems,
    clusterAliases: aliasesOf(settings.clusterAliases),
    apiNamespace: () => apiNamespaceOf(settings, mesh.core.mesh.rootNamespace),
  });
}

/** Messages that were shared a moment ago are kept: the proxies of a rollout come one after the other. */
const sharedMs = 3_000;

/** Runs until `stop` fires: gives back what a burst took, such as proxies that connect or thousands of new certificates. */
export function giveMemoryBack(ads: AdsServer, stop: AbortSignal): Promise<void> {
  const release = () => {
    ads.dropUnshared(sharedMs);
    releaseMemory();
  };
  return releaseWhenQuiet(release, stop);
}

/** The namespace whose identities may ask for configuration as such: the mesh's root, else this service's own; undefined where none is asked for. */
export function apiNamespaceOf(
  { apiAuth, namespace }: Pick<Settings, "apiAuth" | "namespace">,
  rootNamespace: string,
): string | undefined {
  return apiAuth ? rootNamespace || namespace : undefined;
}

function limitsOf(settings: Settings): AdsOptions["limits"] {
  const { maxRequestBytes, maxStreams, keepaliveMs, keepaliveTimeoutMs, maxConnectionAgeMs } = settings;
  return {
    ...defaultStreamLimits,
    ...defaultAdsLimits,
    ...{ maxRequestBytes, keepaliveMs, keepaliveTimeoutMs, maxConnectionAgeMs },
    maxStreamsPerConnection: maxStreams,
    newStreamsPerSecond: settings.streamsPerSecond,
    // Leaves time to close connections, and what else is open.
    handOffMs: settings.shutdownMs / 3,
    stuckMs: settings.stuckClientMs,
    maxNames: settings.maxNames,
  };
}

/** As istiod names itself to its clients: tools read the id and the version out of it. */
function serverIdentifier(replica: string): string {
  return JSON.stringify({ Component: "istiod", ID: replica, Info: { version: manifest.version } });
}
