/** The Secrets, or the files, with kubeconfigs of other clusters, as they come, change and go. */
import {
  clustersOfFiles,
  followKubeconfigFiles,
  type KubeApi,
  mirror,
  type RemoteClusterRules,
  type RemoteClusters,
  remoteClusters,
  remoteSecretsPath,
} from "@flotilla/kube-api";
import type { KubeObject } from "@flotilla/model";

interface RemoteOptions {
  readonly onSecret?: ((event: "add" | "update" | "delete") => void) | undefined;
  /** After each change, and when they were read for the first time. */
  readonly onChange: () => void;
  /** `away` may have changed. */
  readonly onState: () => void;
}

export interface RemoteSecretsOptions extends RemoteOptions {
  readonly api: KubeApi;
  /** Where they lie. */
  readonly namespace: string;
  readonly random: () => number;
}

/** The place where other clusters are named. */
export interface RemoteSource {
  /** For people. */
  readonly name: string;
  /** Without them the list of clusters is unknown. */
  readonly isRead: boolean;
  /** Why they cannot be followed now. */
  readonly away: string | undefined;
  clusters(rules: RemoteClusterRules): RemoteClusters;
  /** Runs until `stop` fires. */
  follow(stop: AbortSignal): Promise<void>;
}

export class RemoteSecrets implements RemoteSource {
  readonly name = "Secrets of other clusters";
  readonly #options: RemoteSecretsOptions;
  readonly #secrets = new Map<string, KubeObject>();
  #isRead = false;
  #away: string | undefined;

  constructor(options: RemoteSecretsOptions) {
    this.#options = options;
  }

  get isRead(): boolean {
    return this.#isRead;
  }

  get away(): string | undefined {
    return this.#away;
  }

  clusters(rules: RemoteClusterRules): RemoteClusters {
    return remoteClusters(this.all(), rules);
  }

  all(): readonly KubeObject[] {
    return [...this.#secrets.values()];
  }

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

/** A directory of kubeconfigs in place of Secrets; each file counts as one. */
export class RemoteFiles implements RemoteSource {
  readonly name = "kubeconfigs of other clusters";
  readonly #directory: string;
  readonly #options: RemoteOptions;
  #files: ReadonlyMap<string, string> = new Map();
  #isRead = false;
  #away: string | undefined;

  constructor(directory: string, options: RemoteOptions) {
    this.#directory = directory;
    this.#options = options;
  }

  get isRead(): boolean {
    return this.#isRead;
  }

  get away(): string | undefined {
    return this.#away;
  }

  clusters(rules: RemoteClusterRules): RemoteClusters {
    return clustersOfFiles(this.#files, rules);
  }

  async follow(stop: AbortSignal): Promise<void> {
    const { onSecret, onChange, onState } = this.#options;
    for await (const { files, away } of followKubeconfigFiles(this.#directory, stop)) {
      this.#away = away;
      if (away === undefined) {
        for (const [file, text] of files) {
          const before = this.#files.get(file);
          if (before !== text) onSecret?.(before === undefined ? "add" : "update");
        }
        for (const file of this.#files.keys()) if (!files.has(file)) onSecret?.("delete");
        [this.#files, this.#isRead] = [files, true];
        onChange();
      }
      onState();
    }
  }
}
