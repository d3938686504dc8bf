/** Reads the Secrets of the clusters that the settings name. */
import { clusterOf, followNamedClusters, type KubeConfig, openKubeApi, type RemoteClusters } from "@flotilla/kube-api";
import type { LabelSelector } from "@flotilla/model";
import type { Logger } from "@flotilla/runtime";
import type { SecretReferences } from "../../publish/credential-uses.ts";
import type { Settings } from "../../settings.ts";
import { fieldSelectors } from "../kubernetes/served-kinds.ts";
import { RemoteSecrets } from "./remote-secrets.ts";

export interface OpenOptions {
  readonly references: SecretReferences;
  readonly selectors: () => readonly LabelSelector[];
  readonly log: Logger;
  readonly onProblems: () => void;
}

/** Undefined where there is no own cluster, or it is switched off. @throws KubeError KUBE_CONFIG */
export async function openRemoteSecrets(
  settings: Settings,
  { references, selectors, log, onProblems }: OpenOptions,
): Promise<RemoteSecrets | undefined> {
  const own = settings.remoteSecrets ? await clusterOf(settings) : undefined;
  if (own === undefined) return undefined;
  return new RemoteSecrets({
    ...{ references, selectors, log, nowMs: Date.now, random: Math.random, onProblems },
    clusters: (stop) => namedClusters(own, settings, log, stop),
    ...pathOf(settings.watchedNamespaces),
  });
}

async function* namedClusters(
  own: KubeConfig,
  settings: Settings,
  log: Logger,
  stop: AbortSignal,
): AsyncGenerator<RemoteClusters, void, undefined> {
  using api = openKubeApi(own);
  yield* followNamedClusters(api, { settings, log, random: Math.random }, stop);
}

/** The API server can be asked for one namespace or for all: of several the others are left out here. */
function pathOf(
  namespaces: readonly string[],
): Pick<ConstructorParameters<typeof RemoteSecrets>[0], "path" | "isRead"> {
  const [one, ...several] = namespaces;
  const place = one === undefined || several.length > 0 ? "" : `/namespaces/${encodeURIComponent(one)}`;
  const path = `/api/v1${place}/secrets?fieldSelector=${encodeURIComponent(fieldSelectors.Secret)}`;
  return { path, isRead: (namespace) => namespaces.length === 0 || namespaces.includes(namespace) };
}
