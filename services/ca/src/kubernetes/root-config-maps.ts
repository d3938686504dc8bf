/**
 * The roots in a ConfigMap of every namespace, from where pods mount them: made when a namespace appears, made again when
 * it is deleted, corrected when it is edited.
 */

import { type ConfigMap, follow, type KubeApi, KubeError } from "@flotilla/kube-api";
import { ownValue } from "@flotilla/model";
import { type Logger, Wakeup } from "@flotilla/runtime";

export interface RootConfigMapsOptions {
  readonly api: KubeApi;
  readonly name: string;
  /** Keys and texts; undefined while there is nothing to report. */
  readonly data: () => Readonly<Record<string, string>> | undefined;
  readonly log: Logger;
  readonly random: () => number;
}

/** istiod leaves these alone too. */
const ignored: ReadonlySet<string> = new Set(["kube-system", "kube-public", "kube-node-lease", "local-path-storage"]);
const labels = { "istio.io/config": "true" };
/** Changes of the roots cause no event here: they are read again after this. */
const againMs = 1_000;

export class RootConfigMaps {
  readonly #options: RootConfigMapsOptions;
  readonly #wakeup = new Wakeup();
  #namespaces: readonly string[] | undefined;
  #maps: ReadonlyMap<string, ConfigMap> | undefined;

  constructor(options: RootConfigMapsOptions) {
    this.#options = options;
  }

  /** Runs until `stop` fires. */
  async run(stop: AbortSignal): Promise<void> {
    await Promise.all([this.#followNamespaces(stop), this.#followMaps(stop), this.#write(stop)]);
  }

  async #followNamespaces(stop: AbortSignal): Promise<void> {
    const { api } = this.#options;
    for await (const all of follow(api, "/api/v1/namespaces", this.#options, stop)) {
      const living = all.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
      this.#namespaces = living.map(({ metadata }) => metadata.name ?? "").filter((name) => !ignored.has(name));
      this.#wakeup.wake();
    }
  }

  async #followMaps(stop: AbortSignal): Promise<void> {
    const { api, name } = this.#options;
    const path = `/api/v1/configmaps?fieldSelector=metadata.name%3D${encodeURIComponent(name)}`;
    for await (const all of follow<ConfigMap>(api, path, this.#options, stop)) {
      this.#maps = new Map(all.map((map) => [map.metadata.namespace ?? "", map]));
      this.#wakeup.wake();
    }
  }

  async #write(stop: AbortSignal): Promise<void> {
    const { data, log } = this.#options;
    while (!stop.aborted) {
      await this.#wakeup.waitShared(stop, againMs);
      const wanted = data();
      if (stop.aborted || wanted === undefined) continue;
      for (const namespace of this.#behind(wanted)) {
        try {
          await this.#writeOne(namespace, wanted);
        } catch (error) {
          if (!(error instanceof KubeError)) throw error;
          // Changed meanwhile, or its namespace is being deleted: the object is processed again.
          log.debug("roots not written to a namespace", { namespace, reason: error.message });
        }
      }
    }
  }

  #behind(wanted: Readonly<Record<string, string>>): readonly string[] {
    if (this.#namespaces === undefined || this.#maps === undefined) return [];
    return this.#namespaces.filter((namespace) => {
      const map = this.#maps?.get(namespace);
      return Object.entries(wanted).some(([key, text]) => ownValue(map?.data, key) !== text);
    });
  }

  /** Keys and labels of others stay. */
  async #writeOne(namespace: string, wanted: Readonly<Record<string, string>>): Promise<void> {
    const { api, name } = this.#options;
    const map = this.#maps?.get(namespace);
    const path = `/api/v1/namespaces/${namespace}/configmaps`;
    const metadata = { ...map?.metadata, namespace, name, labels: { ...map?.metadata.labels, ...labels } };
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata, data: { ...map?.data, ...wanted } };
    if (map === undefined) await api.create(path, object);
    else await api.replace(`${path}/${name}`, object);
  }
}
