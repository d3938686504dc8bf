/**
 * Checks whether kubelets run native sidecars, by the versions that nodes report: as in istiod, those of all nodes count for a pod that is
 * not bound to one, since its node is still open. Of a node its version alone is kept.
 */
import { openApiServer } from "@flotilla/auth/cluster";
import { type KubeApi, type KubeObject, mirror } from "@flotilla/kube-api";
import type { Logger } from "@flotilla/runtime";
import type { Settings } from "../settings.ts";

/** Native sidecars are stable since Kubernetes 1.33; before, a proxy that ends early could end its pod. */
const [firstMajor, firstMinor] = [1, 33];

interface NodeObject extends KubeObject {
  readonly status?: { readonly nodeInfo?: { readonly kubeletVersion?: string } };
}

export interface KubeletVersionsOptions {
  readonly api: KubeApi;
  readonly log: Logger;
  readonly random: () => number;
}

export class KubeletVersions {
  readonly #asked: boolean | undefined;
  readonly #usual: boolean;
  readonly #nodes = new Map<string, boolean>();
  #isHeard = false;
  #revision = 0;

  /** Without nodes, KUBERNETES_VERSION counts. */
  constructor({ nativeSidecars, kubernetesVersion }: Pick<Settings, "nativeSidecars" | "kubernetesVersion">) {
    this.#asked = nativeSidecars === "auto" ? undefined : nativeSidecars === "true";
    this.#usual = hasNativeSidecars(kubernetesVersion);
  }

  /** Another one whenever an answer may be another. */
  get revision(): number {
    return this.#revision;
  }

  /** @param node that the pod is bound to already */
  hasNativeSidecars(node: string | undefined): boolean {
    if (this.#asked !== undefined) return this.#asked;
    if (!this.#isHeard) return this.#usual;
    const own = node === undefined ? undefined : this.#nodes.get(node);
    return own ?? [...this.#nodes.values()].every((one) => one);
  }

  /** Runs until `stop` fires; nothing to do outside of a cluster, and where the setting decides. @throws KubeError KUBE_CONFIG */
  async followCluster(settings: Settings, log: Logger, stop: AbortSignal): Promise<void> {
    if (this.#asked !== undefined) return;
    using api = await openApiServer(settings);
    if (api !== undefined) await this.follow({ api, log, random: Math.random }, stop);
  }

  /** Runs until `stop` fires. Reported versions hold while the API server is away. */
  async follow({ api, log, random }: KubeletVersionsOptions, stop: AbortSignal): Promise<void> {
    let reported = "";
    const onState = (failure: string | undefined): void => {
      if (failure !== undefined && failure !== reported) log.warn("nodes not followed", { reason: failure });
      reported = failure ?? "";
    };
    for await (const event of mirror<NodeObject>(api, { path: "/api/v1/nodes", random, onState }, stop)) {
      if (event.type === "list") {
        this.#nodes.clear();
        for (const node of event.objects) this.#set(node);
        this.#isHeard = true;
        this.#revision += 1;
      } else if (event.type === "put") this.#set(event.object);
      else if (this.#nodes.delete(event.object.metadata.name ?? "")) this.#revision += 1;
    }
  }

  #set({ metadata: { name = "" }, status }: NodeObject): void {
    const isNew = hasNativeSidecars(status?.nodeInfo?.kubeletVersion ?? "");
    if (this.#nodes.get(name) === isNew) return;
    this.#nodes.set(name, isNew);
    this.#revision += 1;
  }
}

/** `v1.33.2`, `v1.32.1-gke.100`; undefined for other texts. */
function hasNativeSidecars(version: string): boolean {
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(version) ?? [];
  if (major === undefined || minor === undefined) return false;
  return Number(major) > firstMajor || (Number(major) === firstMajor && Number(minor) >= firstMinor);
}
