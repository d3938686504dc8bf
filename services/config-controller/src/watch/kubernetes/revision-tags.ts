/**
 * Names of this mesh's revision: its own and those of the tags that point at it. A tag is a MutatingWebhookConfiguration with the labels
 * istio.io/tag and istio.io/rev; to point it elsewhere moves the objects labelled with it to another revision.
 */
import { follow, type KubeApi, KubeError } from "@flotilla/kube-api";
import type { Logger } from "@flotilla/runtime";

export const revisionLabel = "istio.io/rev";
const tagLabel = "istio.io/tag";
const path = `/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations?labelSelector=${encodeURIComponent(tagLabel)}`;

export interface RevisionTagsOptions {
  readonly api: KubeApi;
  readonly revision: string;
  readonly log: Logger;
  readonly random: () => number;
  /** The tags are others than before, or whether they can be read is. */
  readonly onChange: () => void;
}

export class RevisionTags {
  readonly #options: RevisionTagsOptions;
  #tags: ReadonlySet<string> = new Set();
  #isSettled = false;
  #failure: string | undefined;

  constructor(options: RevisionTagsOptions) {
    this.#options = options;
  }

  /** The tags have been read, or are refused: then only the revision's own name counts. */
  get isSettled(): boolean {
    return this.#isSettled;
  }

  /** Why tags are not known; undefined when they are. */
  get failure(): string | undefined {
    return this.#failure;
  }

  /** The revision that an object which names `label` belongs to: the own one when the label is one of its tags. */
  revisionOf(label: string | undefined): string {
    return label !== undefined && this.#tags.has(label) ? label : this.#options.revision;
  }

  /** Runs until `stop` fires. */
  async run(stop: AbortSignal): Promise<void> {
    const { api, onChange } = this.#options;
    await this.#probe();
    onChange();
    for await (const webhooks of follow(api, path, this.#options, stop)) {
      const tags = new Set(webhooks.flatMap(({ metadata }) => this.#tagOf(metadata.labels ?? {})));
      const isSame = this.#isSettled && this.#failure === undefined && sorted(tags) === sorted(this.#tags);
      this.#tags = tags;
      this.#isSettled = true;
      this.#failure = undefined;
      if (!isSame) onChange();
    }
  }

  #tagOf({ [revisionLabel]: revision, [tagLabel]: tag }: Readonly<Record<string, string>>): readonly string[] {
    return tag !== undefined && revision === this.#options.revision ? [tag] : [];
  }

  /** Following goes on trying; readiness does not wait for what is forbidden. */
  async #probe(): Promise<void> {
    try {
      // An API server that has no webhooks has no tags.
      if ((await this.#options.api.get(`${path}&limit=1`)) === undefined) this.#isSettled = true;
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      if (error.code !== "KUBE_REFUSED") return;
      this.#isSettled = true;
      this.#failure = error.message;
    }
  }
}

function sorted(tags: ReadonlySet<string>): string {
  return [...tags].sort().join(" ");
}
