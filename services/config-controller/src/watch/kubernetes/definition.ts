/** The CustomResourceDefinition of a kind: when it is deleted, the API server first deletes every object of the kind. */
import type { Kind } from "@flotilla/kinds";
import { type KubeApi, KubeError } from "@flotilla/kube-api";

/** Kubernetes' own, which have none. */
const builtIn: ReadonlySet<string> = new Set(["", "networking.k8s.io"]);
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/** An answer holds for this long: the API server takes longer to begin with the objects. */
const holdsMs = 20;

export class Definition {
  readonly #api: KubeApi;
  readonly #nowMs: () => number;
  #staysUntilMs = Number.NEGATIVE_INFINITY;

  constructor(api: KubeApi, nowMs: () => number) {
    this.#api = api;
    this.#nowMs = nowMs;
  }

  /** True: what is deleted now was not deleted by itself. False too where that is not to be known. */
  async isGoing({ plural, group }: Kind): Promise<boolean> {
    if (builtIn.has(group) || this.#nowMs() < this.#staysUntilMs) return false;
    try {
      const definition = await this.#api.metadata(`${definitions}/${plural}.${group}`);
      if (definition === undefined || definition.metadata.deletionTimestamp !== undefined) return true;
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
    }
    this.#staysUntilMs = this.#nowMs() + holdsMs;
    return false;
  }
}
