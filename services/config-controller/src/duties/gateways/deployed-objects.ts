/**
 * Objects deployed for Gateways, as the cluster has them, and the writes to them: server-side apply of those that differ from the last
 * applied ones or were changed by somebody since. Objects that somebody else made under a name of ours are left alone.
 */
import { follow, type KubeApi, type KubeObject } from "@flotilla/kube-api";
import type { Logger } from "@flotilla/runtime";

export interface DeployedObject extends KubeObject {
  readonly spec?: unknown;
}

/** Kind → where its objects are, and how they are called there. */
const collections: ReadonlyMap<string, readonly [root: string, plural: string]> = new Map([
  ["ServiceAccount", ["/api/v1", "serviceaccounts"]],
  ["Service", ["/api/v1", "services"]],
  ["Deployment", ["/apis/apps/v1", "deployments"]],
  ["HorizontalPodAutoscaler", ["/apis/autoscaling/v2", "horizontalpodautoscalers"]],
  ["PodDisruptionBudget", ["/apis/policy/v1", "poddisruptionbudgets"]],
]);

const managedLabel = "gateway.istio.io/managed";

interface Applied {
  /** The applied object. */
  readonly wanted: string;
  /** Its content in the cluster at that time. */
  readonly found: string;
}

type Adopt = (wanted: DeployedObject, found: DeployedObject | undefined) => DeployedObject;

export interface DeployedObjectsOptions {
  readonly api: KubeApi;
  /** Owner of the fields that are applied. */
  readonly fieldManager: string;
  readonly log: Logger;
  readonly random: () => number;
  /** An object has changed in the cluster. */
  readonly onChange: () => void;
}

export class DeployedObjects {
  readonly #options: DeployedObjectsOptions;
  readonly #known = new Map<string, ReadonlyMap<string, DeployedObject>>();
  readonly #applied = new Map<string, Applied>();
  readonly #foreign = new Set<string>();

  constructor(options: DeployedObjectsOptions) {
    this.#options = options;
  }

  /** All kinds have been listed. */
  get isKnown(): boolean {
    return this.#known.size === collections.size;
  }

  /** Follows what carries the label, until `stop` fires. */
  async run(stop: AbortSignal): Promise<void> {
    await Promise.all([...collections.keys()].map((kind) => this.#follow(kind, stop)));
  }

  /**
   * True when it was written; `adopt` changes what is wanted in view of what is there.
   * @throws KubeError KUBE_CONFLICT when it has changed meanwhile; KUBE_AWAY, KUBE_REFUSED
   */
  async apply(object: DeployedObject, adopt?: Adopt): Promise<boolean> {
    const { api, fieldManager, log } = this.#options;
    const path = pathOf(object);
    const known = this.#known.get(object.kind ?? "")?.get(path);
    const adopted = adopt === undefined ? object : adopt(object, known);
    const wanted = JSON.stringify(adopted);
    const last = this.#applied.get(path);
    if (known !== undefined && last?.wanted === wanted && last.found === contentOf(known)) return false;
    const present = known ?? (await api.metadata(path));
    if (present !== undefined && present.metadata.labels?.[managedLabel] === undefined) {
      if (!this.#foreign.has(path)) log.warn("object of a Gateway's name has another owner, left unchanged", { path });
      this.#foreign.add(path);
      return false;
    }
    this.#foreign.delete(path);
    const { resourceVersion } = present?.metadata ?? {};
    const metadata = { ...adopted.metadata, ...(resourceVersion !== undefined && { resourceVersion }) };
    const written = await api.apply<DeployedObject>(path, { ...adopted, metadata }, { fieldManager, force: true });
    this.#applied.set(path, { wanted, found: contentOf(written) });
    return true;
  }

  async #follow(kind: string, stop: AbortSignal): Promise<void> {
    const { api, log, random, onChange } = this.#options;
    const [root, plural] = collections.get(kind) ?? ["", ""];
    const path = `${root}/${plural}?labelSelector=${encodeURIComponent(managedLabel)}`;
    for await (const objects of follow<DeployedObject>(api, path, { log, random }, stop)) {
      this.#known.set(kind, new Map(objects.map((object) => [pathOf({ ...object, kind }), object])));
      onChange();
    }
  }
}

function pathOf({ kind = "", metadata: { namespace = "", name = "" } }: DeployedObject): string {
  const [root, plural] = collections.get(kind) ?? ["", ""];
  return `${root}/namespaces/${encodeURIComponent(namespace)}/${plural}/${encodeURIComponent(name)}`;
}

/** The content that others may change; a status is no change. */
function contentOf({ metadata, spec }: DeployedObject): string {
  const { labels, annotations, uid } = metadata;
  return JSON.stringify([uid, labels, annotations, spec]);
}
