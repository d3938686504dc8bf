/** ConfigMaps that are named one by one: each is followed for as long as somebody names it. */
import { type ConfigMap, follow, type KubeApi } from "@flotilla/kube-api";
import { type TextOf, textCodec } from "@flotilla/model";
import type { Logger } from "@flotilla/runtime";

export const configMapName = textCodec("ConfigMapName", "/", ["namespace", "name"]);
export type ConfigMapName = TextOf<typeof configMapName>;

export interface FollowedConfigMapsOptions {
  readonly api: KubeApi;
  readonly log: Logger;
  readonly random: () => number;
  readonly onChange: () => void;
  /** Failures that the API server did not cause. */
  readonly onFailure: (error: unknown) => void;
}

interface Followed {
  readonly ending: AbortController;
  /** Undefined while it has not been looked for. */
  found?: ConfigMap | null;
}

export class FollowedConfigMaps implements Disposable {
  readonly #options: FollowedConfigMapsOptions;
  readonly #followed = new Map<ConfigMapName, Followed>();

  constructor(options: FollowedConfigMapsOptions) {
    this.#options = options;
  }

  /** All that are named from now on; others are forgotten. */
  name(keys: ReadonlySet<ConfigMapName>): void {
    for (const [key, { ending }] of this.#followed) {
      if (keys.has(key)) continue;
      ending.abort();
      this.#followed.delete(key);
    }
    for (const key of keys) {
      if (this.#followed.has(key)) continue;
      const followed: Followed = { ending: new AbortController() };
      this.#followed.set(key, followed);
      this.#follow(key, followed).catch(this.#options.onFailure);
    }
  }

  /** Null: there is none; undefined: not known yet. */
  get(key: ConfigMapName): ConfigMap | null | undefined {
    return this.#followed.get(key)?.found;
  }

  [Symbol.dispose](): void {
    this.name(new Set());
  }

  async #follow(key: ConfigMapName, followed: Followed): Promise<void> {
    const { api, log, random, onChange } = this.#options;
    const { namespace, name } = configMapName.read(key);
    const selector = encodeURIComponent(`metadata.name=${name}`);
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/configmaps?fieldSelector=${selector}`;
    for await (const [found = null] of follow<ConfigMap>(api, path, { log, random }, followed.ending.signal)) {
      followed.found = found;
      onChange();
    }
  }
}
