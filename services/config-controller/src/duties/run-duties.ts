/** Duties that one config-controller of a cluster performs for all: each by its own Lease, so that several share them. */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Bus } from "@flotilla/bus";
import { clusterOf, openKubeApi } from "@flotilla/kube-api";
import { duties, Leadership, leaseOfCluster } from "@flotilla/leadership";
import type { Config, JsonObject } from "@flotilla/model";
import type { Logger } from "@flotilla/runtime";
import type { PublishedConfig } from "../follow/published-config.ts";
import { GatewayStatus, writesAtOnce } from "../gateway-status/gateway-status.ts";
import type { StoredObjects } from "../gateway-status/stored-objects.ts";
import type { Settings } from "../settings.ts";
import { StatusWriter } from "../status/kubernetes/status-writer.ts";
import type { StatusFeed } from "../status/open-status.ts";
import { writesGatewayStatus } from "../watch/gateway-api-settings.ts";
import { AmbientStatus } from "./ambient/ambient-status.ts";
import { knownClasses } from "./gateways/gateway-settings.ts";
import { runGateways } from "./gateways/run-gateways.ts";
import { IngressStatus } from "./ingress-status.ts";
import { keepDefinitions, shippedDefinitions } from "./kind-definitions.ts";

export interface DutiesOptions {
  readonly settings: Settings;
  /** Of this program: the newest one that runs has the duties. */
  readonly version: string;
  /** MeshConfig as it is now; undefined while it is not known. */
  readonly mesh: () => JsonObject | undefined;
  /** The ProxyConfig objects as they are now. */
  readonly proxyConfigs: () => readonly Config[];
  /** Of the objects of the configuration. */
  readonly status: StatusFeed;
  /** The status of objects in Kubernetes, as far as it is known. */
  readonly stored: StoredObjects;
  /** The status of an object was written. */
  readonly onStatusWritten: () => void;
  readonly bus: Bus;
  readonly published: PublishedConfig;
  readonly log: Logger;
}

/** Runs until `stop` fires; without a cluster there is nothing to do. @throws KubeError KUBE_CONFIG */
export async function runDuties(
  { settings, version, mesh, proxyConfigs, status, stored, onStatusWritten, bus, published, log }: DutiesOptions,
  stop: AbortSignal,
): Promise<void> {
  const cluster = await clusterOf(settings);
  if (cluster === undefined) return;
  using api = openKubeApi(cluster);
  using statusApi = openKubeApi(cluster, { requestsAtOnce: writesAtOnce });
  const { namespace, ingressNamespace, revision, electsLeaders } = settings;
  const candidate = {
    holder: `${hostname()}-${randomUUID()}`,
    version,
    isDefaultRevision: revision === "default",
  };
  const doing = (duty: string, work: (end: AbortSignal) => Promise<void>): Promise<void> => {
    const lease = leaseOfCluster({ api, namespace, name: duty, candidate, electsLeaders });
    return new Leadership({ lease, duty, log }).run(work, stop);
  };
  const ingress = { api, namespace: ingressNamespace, mesh, log, random: Math.random };
  const writer = new StatusWriter({
    ...{ api, ...status, onWritten: onStatusWritten, log, nowMs: Date.now },
    ...{ namespaces: settings.watchedNamespaces, writesPerSecond: settings.statusWritesPerSecond },
  });
  const gatewayStatus = {
    ...{ api: statusApi, bus, published, stored, onWritten: onStatusWritten, log, nowMs: Date.now },
    ...{ domain: settings.domain, classes: knownClasses(settings), namespaces: settings.watchedNamespaces },
  };
  const define = async (end: AbortSignal): Promise<void> =>
    keepDefinitions({ api, definitions: await shippedDefinitions(), version, log }, end);
  const ambient = {
    ...{ api, mesh, log, random: Math.random, nowMs: Date.now },
    ...{ writesPerSecond: settings.statusWritesPerSecond, sendsDryRun: settings.ambientDryRunPolicies },
  };
  const writesAmbient = settings.ambient && settings.writesAmbientStatus;
  const writeStatus = async (end: AbortSignal): Promise<void> => {
    await Promise.all([writer.run(end), writesAmbient && new AmbientStatus(ambient).run(end)]);
  };
  const gateways = { api, settings, mesh, proxyConfigs, log };
  await Promise.all([
    // Gateways of another revision are its own config-controller's.
    (settings.deploysGateways || settings.makesGatewayClasses) &&
      doing(`${duties.gatewayDeployment}-${revision}`, (end) => runGateways(gateways, end)),
    doing(duties.ingressStatus, (end) => new IngressStatus(ingress).run(end)),
    settings.writesStatus && doing(duties.objectStatus, writeStatus),
    writesGatewayStatus(settings) && doing(duties.gatewayStatus, (end) => new GatewayStatus(gatewayStatus).run(end)),
    settings.installDefinitions && doing(duties.definitions, define),
  ]);
}
