/** Follows the Secrets and the namespaces of another cluster with one set of credentials. */
import { type KubeApi, type MirrorEvent, mirror } from "@flotilla/kube-api";
import type { KubeObject } from "@flotilla/model";
import type { ClusterNamespaces } from "./cluster-namespaces.ts";

export interface SecretConnectionOptions {
  readonly api: KubeApi;
  /** Of the API, with selectors. */
  readonly path: string;
  readonly random: () => number;
  readonly namespaces: ClusterNamespaces;
  readonly onEvent: (from: SecretConnection, event: MirrorEvent<KubeObject>) => void;
  /** `failure` is another one. */
  readonly onState: (from: SecretConnection) => void;
}

export class SecretConnection {
  readonly api: KubeApi;
  readonly #options: SecretConnectionOptions;
  readonly #end = new AbortController();
  #secretsFailure: string | undefined;
  #namespacesFailure: string | undefined;

  constructor(options: SecretConnectionOptions) {
    this.api = options.api;
    this.#options = options;
  }

  /** Why the Secrets cannot be followed now. Without the namespaces they can, unless these are selected among. */
  get failure(): string | undefined {
    return this.#secretsFailure ?? (this.#options.namespaces.isSelected ? this.#namespacesFailure : undefined);
  }

  /** Runs until `end` is called. */
  async run(): Promise<void> {
    const { api, namespaces, onState } = this.#options;
    const onNamespaces = (failure: string | undefined) => {
      this.#namespacesFailure = withoutQuery(failure);
      onState(this);
    };
    try {
      await Promise.all([namespaces.follow(api, onNamespaces, this.#end.signal), this.#followSecrets()]);
    } finally {
      api[Symbol.dispose]();
    }
  }

  end(): void {
    this.#end.abort();
  }

  async #followSecrets(): Promise<void> {
    const { api, path, random, namespaces, onEvent, onState: report } = this.#options;
    const stop = this.#end.signal;
    const onState = (failure: string | undefined) => {
      this.#secretsFailure = withoutQuery(failure);
      report(this);
    };
    await namespaces.read(stop);
    for await (const event of mirror<KubeObject>(api, { path, random, onState }, stop))
      if (!stop.aborted) onEvent(this, event);
  }
}

/** Each attempt has another query, and all the same reason. */
function withoutQuery(failure: string | undefined): string | undefined {
  return failure?.replace(/\?\S*/, "");
}
