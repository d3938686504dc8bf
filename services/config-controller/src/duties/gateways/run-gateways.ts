/** The duty of Gateways: their classes, and what is deployed for them. */
import { builtInClasses } from "@flotilla/gateway-api";
import {
  documentsOfMap,
  type InjectionDocuments,
  injectionConfigSource,
  injectionMapOf,
  type Json,
  type ManagedGatewaySettings,
  valueOverrides,
} from "@flotilla/injection";
import { type ConfigMap, type FollowOptions, follow, type KubeApi } from "@flotilla/kube-api";
import type { Config } from "@flotilla/model";
import type { Logger } from "@flotilla/runtime";
import type { Settings } from "../../settings.ts";
import { RevisionTags } from "../../watch/kubernetes/revision-tags.ts";
import { keepGatewayClasses } from "./gateway-classes.ts";
import { deployedClasses } from "./gateway-settings.ts";
import { ManagedGateways } from "./managed-gateways.ts";

export interface RunGatewaysOptions {
  readonly api: KubeApi;
  readonly settings: Settings;
  /** MeshConfig as it is now; undefined while it is not known. */
  readonly mesh: () => Json | undefined;
  /** The ProxyConfig objects as they are now. */
  readonly proxyConfigs: () => readonly Config[];
  readonly log: Logger;
}

/** Runs until `stop` fires. */
export async function runGateways(
  { api, settings, mesh, proxyConfigs, log }: RunGatewaysOptions,
  stop: AbortSignal,
): Promise<void> {
  const { namespace, revision, watchedNamespaces: namespaces, allowsManualGateways: allowsManual } = settings;
  const { injectionConfigFile: configFile, injectionValuesFile: valuesFile, filePollMs: pollMs } = settings;
  const classes = deployedClasses(settings);
  const following = { api, log, random: Math.random };
  const injection = injectionConfigSource(
    {
      ...{ configFile, valuesFile, adjust: valueOverrides(settings), pollMs, log, onStale: () => undefined },
      documents: (until) => injectionDocuments({ ...following, namespace, name: injectionMapOf(revision) }, until),
    },
    stop,
  );
  const tags = new RevisionTags({ ...following, revision, onChange: () => undefined });
  const deploy = async (): Promise<void> => {
    const rendering = renderingOf(settings, await kubernetesVersion(api, stop));
    await injection.first();
    const isOurs = (label = "default") => tags.revisionOf(label) === label;
    const followed = { mesh, proxyConfigs, injection: injection.current };
    const options = { classes, rendering, allowsManual, isOurs, namespaces, ...followed };
    await new ManagedGateways({ ...following, namespace, ...options }).run(stop);
  };
  await Promise.all([
    settings.makesGatewayClasses && keepGatewayClasses({ ...following, classes: builtInClasses(classes) }, stop),
    settings.deploysGateways && deploy(),
    injection.following,
    tags.run(stop),
  ]);
}

function renderingOf(settings: Settings, version: number): ManagedGatewaySettings {
  const { revision, platform, compliancePolicy, clusterId, copiesGatewayMetadata, quicListeners } = settings;
  return {
    ...{ revision, platform, compliancePolicy, clusterId, nativeSidecars: true, kubernetesVersion: version },
    ...{ copiesMetadata: copiesGatewayMetadata, quic: quicListeners, waypoints: deployedClasses(settings).waypoints },
  };
}

/** 133 for 1.33. */
async function kubernetesVersion(api: KubeApi, stop: AbortSignal): Promise<number> {
  const version = await api.get<{ readonly major: string; readonly minor: string }>("/version", stop);
  const number = (text = "") => Number.parseInt(text, 10) || 0;
  return number(version?.major) * 100 + number(version?.minor);
}

interface InjectionMap extends FollowOptions {
  readonly api: KubeApi;
  readonly namespace: string;
  readonly name: string;
}

/** Templates and values of an installation of Istio, again after each change. */
async function* injectionDocuments(map: InjectionMap, stop: AbortSignal): AsyncGenerator<InjectionDocuments> {
  const { api, namespace, name } = map;
  const path = `/api/v1/namespaces/${namespace}/configmaps?fieldSelector=metadata.name%3D${name}`;
  for await (const found of follow<ConfigMap>(api, path, map, stop)) yield documentsOfMap(name, found[0]?.data);
}
