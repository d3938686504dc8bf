/** The configuration in force: the sources, the view of them all, and what was in force before the start. */
import type { OwnCertificate } from "@flotilla/auth/serving";
import type { Config, ConfigKey, JsonObject } from "@flotilla/model";
import { meshConfigKey } from "@flotilla/registry/config";
import { AggregateStore } from "../aggregate/aggregate-store.ts";
import { type AggregateGroup, mergeSources } from "../aggregate/merge-sources.ts";
import type { PublishedConfig } from "../follow/published-config.ts";
import type { StoredObjects } from "../gateway-status/stored-objects.ts";
import { keyFetcher } from "../issuer-keys/issuer-key-settings.ts";
import { IssuerKeys, issuerKeysName } from "../issuer-keys/issuer-keys.ts";
import { type ConfigMetrics, declareAwayGauge, declareObjectsGauge } from "../metrics.ts";
import { Credentials, credentialsName } from "../publish/credentials.ts";
import type { ConfigService } from "../settings.ts";
import type { DurableStore } from "../store/durable/durable-store.ts";
import { openRemoteSecrets } from "../watch/clusters/open-remote-secrets.ts";
import { remoteSecretsName } from "../watch/clusters/remote-secrets.ts";
import type { ConfigSource } from "../watch/config-source.ts";
import { LastGood, lastGoodName } from "../watch/last-good.ts";
import { openSources } from "../watch/open-sources.ts";

export interface ViewOptions {
  readonly certificate: OwnCertificate;
  /** Objects written over the API, where there is one. */
  readonly durable: DurableStore | undefined;
  readonly published: PublishedConfig;
  /** Called when the sources or the view may have other problems. */
  readonly onProblems: () => void;
  /** Notes the status of objects in Kubernetes. */
  readonly stored: StoredObjects;
  readonly metrics: ConfigMetrics;
}

export interface View extends AsyncDisposable {
  readonly sources: readonly ConfigSource[];
  /** Names of the sources in the view, the one that wins first. */
  readonly order: readonly string[];
  readonly store: AggregateStore;
  readonly lastGood: LastGood;
  readonly credentials: Credentials;
  readonly issuerKeys: IssuerKeys;
  /** Of objects in the view. */
  readonly isPublished: (key: ConfigKey) => boolean;
  /** The objects to publish. Runs the sources until the service stops. */
  groups(): AsyncIterable<AggregateGroup>;
  mesh(): JsonObject | undefined;
  proxyConfigs(): readonly Config[];
}

/** Waits for what MeshConfig is read from. @throws the reason of the service's signal */
export async function openView(
  { settings, log, metrics: registry, stop }: ConfigService,
  { certificate, durable, published, onProblems, stored, metrics }: ViewOptions,
): Promise<View> {
  const holding = {
    published: (isWanted: (config: Config) => boolean) =>
      [...published.all()].map((one) => one.config).filter(isWanted),
    onHeld: (directory: string, objects: number) => metrics.held.set(objects, { directory }),
  };
  await using opened = new AsyncDisposableStack();
  const onKubernetesEvent = (type: string, event: string) => metrics.kubernetesEvents.add(1, { type, event });
  const onStored = stored.note.bind(stored);
  const options = { settings, certificate, log, onProblems, onKubernetesEvent, onStored, durable, holding };
  const opening = await openSources(options, stop);
  for (const source of opening) opened.use(source);
  const made = [remoteSecretsName, issuerKeysName, credentialsName];
  const order = [...opening.map((source) => source.name), ...made, lastGoodName];
  const store = new AggregateStore(order, onProblems);
  const credentials = new Credentials({ store, nowMs: Date.now, onProblems });
  const { references } = credentials;
  const selectors = () => store.selectors;
  const remoteSecrets = await openRemoteSecrets(settings, { references, selectors, log, onProblems });
  const issuerKeys = new IssuerKeys({
    ...{ fetch: keyFetcher(settings), view: store, published, nowMs: Date.now, random: Math.random, log },
    ...{ proxiesFetch: settings.remoteJwks === "envoy", refreshMs: settings.jwksRefreshMs },
    ...{ fetched: metrics.keysFetched, failed: metrics.keysNotFetched },
  });
  const listeners = new Map([["RequestAuthentication", issuerKeys.listener]]);
  if (remoteSecrets !== undefined) listeners.set("MeshConfig", remoteSecrets.listener);
  const remote = remoteSecrets === undefined ? [] : [remoteSecrets];
  if (remoteSecrets !== undefined) declareAwayGauge(registry, () => remoteSecrets.away(), Date.now);
  const sources = [...opening, ...remote, issuerKeys.asSource(), credentials.asSource()];
  declareObjectsGauge(registry, () => store.counts());
  const lastGood = new LastGood({ sources, view: store, published, nowMs: Date.now });
  const owned = opened.move();
  return {
    ...{ sources, order, store, lastGood, credentials, issuerKeys },
    isPublished: (key) => credentials.isPublished(key) && issuerKeys.isPublished(key),
    groups: () => credentials.published(mergeSources([...sources, lastGood], { store, listeners }, stop)),
    mesh: () => store.get(meshConfigKey)?.spec as JsonObject | undefined,
    proxyConfigs: () => store.list("ProxyConfig"),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
