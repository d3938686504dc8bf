/** Namespaces of another cluster that discoverySelectors leave in: by the labels that they have there. */
import { type KubeApi, mirror } from "@flotilla/kube-api";
import { isDiscovered, type KubeObject, type LabelSelector, type Labels } from "@flotilla/model";
import { Wakeup } from "@flotilla/runtime";

export interface ClusterNamespacesOptions {
  /** Those in force now. */
  readonly selectors: () => readonly LabelSelector[];
  readonly random: () => number;
  /** Other namespaces may be selected now. */
  readonly onChange: () => void;
}

export class ClusterNamespaces {
  readonly #options: ClusterNamespacesOptions;
  readonly #wakeup = new Wakeup();
  #labels: Map<string, Labels> | undefined;

  constructor(options: ClusterNamespacesOptions) {
    this.#options = options;
  }

  /** False: all of them are in. */
  get isSelected(): boolean {
    return this.#options.selectors().length > 0;
  }

  /** The labels are known, or not needed. */
  get isRead(): boolean {
    return this.#labels !== undefined || !this.isSelected;
  }

  has(namespace: string): boolean {
    return isDiscovered(this.#options.selectors(), namespace, this.#labels?.get(namespace));
  }

  /** To be called when the selectors have changed. */
  noteSelectors(): void {
    this.#wakeup.wake();
    this.#options.onChange();
  }

  /** Resolves when they are read, or `stop` fires. One caller at a time. */
  async read(stop: AbortSignal): Promise<void> {
    while (!this.isRead && !stop.aborted) await this.#wakeup.wait(stop);
  }

  /** Runs until `stop` fires. */
  async follow(api: KubeApi, onState: (failure: string | undefined) => void, stop: AbortSignal): Promise<void> {
    const { random, onChange } = this.#options;
    for await (const event of mirror<KubeObject>(api, { path: "/api/v1/namespaces", random, onState }, stop)) {
      if (event.type === "list") this.#labels = new Map(event.objects.map(labelsOf));
      else if (event.type === "put") this.#labels?.set(...labelsOf(event.object));
      else this.#labels?.delete(event.object.metadata.name);
      this.#wakeup.wake();
      if (this.isSelected) onChange();
    }
  }
}

function labelsOf({ metadata: { name, labels = {} } }: KubeObject): [string, Labels] {
  return [name, labels];
}
