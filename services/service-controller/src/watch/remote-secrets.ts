/** The Secrets with kubeconfigs of other clusters, as they come, change and go. */
import { type KubeApi, mirror, remoteSecretsPath } from "@flotilla/kube-api";
import type { KubeObject } from "@flotilla/model";

export interface RemoteSecretsOptions {
  readonly api: KubeApi;
  /** Where they lie. */
  readonly namespace: string;
  readonly random: () => number;
  readonly onSecret?: ((event: "add" | "update" | "delete") => void) | undefined;
  /** After each change, and when they were read for the first time. */
  readonly onChange: () => void;
  /** `away` may have changed. */
  readonly onState: () => void;
}

export class RemoteSecrets {
  readonly #options: RemoteSecretsOptions;
  readonly #secrets = new Map<string, KubeObject>();
  #isRead = false;
  #away: string | undefined;

  constructor(options: RemoteSecretsOptions) {
    this.#options = options;
  }

  /** Without them the list of clusters is unknown. */
  get isRead(): boolean {
    return this.#isRead;
  }

  /** Why they cannot be followed now. */
  get away(): string | undefined {
    return this.#away;
  }

  all(): readonly KubeObject[] {
    return [...this.#secrets.values()];
  }

  /** Runs until `stop` fires. */
  async follow(stop: AbortSignal): Promise<void> {
    const { api, namespace, random, onChange } = this.#options;
    const onState = (reason: string | undefined) => {
      this.#away = reason;
      this.#options.onState();
    };
    for await (const event of mirror<KubeObject>(api, { path: remoteSecretsPath(namespace), random, onState }, stop)) {
      if (event.type === "list") {
        const names = new Set(event.objects.map(({ metadata }) => metadata.name));
        for (const name of [...this.#secrets.keys()]) if (!names.has(name)) this.#set(name, undefined);
        for (const secret of event.objects) this.#set(secret.metadata.name, secret);
        this.#isRead = true;
      } else this.#set(event.object.metadata.name, event.type === "put" ? event.object : undefined);
      onChange();
    }
  }

  #set(name: string, secret: KubeObject | undefined): void {
    const event = secret === undefined ? "delete" : this.#secrets.has(name) ? "update" : "add";
    this.#options.onSecret?.(event);
    if (secret === undefined) this.#secrets.delete(name);
    else this.#secrets.set(name, secret);
  }
}
