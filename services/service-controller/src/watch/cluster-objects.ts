/** The objects of one cluster that are known: new objects are yielded, problems of an object are kept beside it. */
import { type KubeApi, KubeError, listAll } from "@flotilla/kube-api";
import { checkKubeObject, type KubeObject, type ObjectName, objectName, objectNameOf } from "@flotilla/model";
import type { ObjectChange } from "@flotilla/registry";
import type { SourceProblem } from "@flotilla/sources";
import type { ClusterEvent, FollowedKind } from "./cluster-connection.ts";

export interface ClusterObjectsOptions {
  readonly cluster: string;
  readonly kinds: readonly FollowedKind[];
  readonly onChange: (change: ObjectChange) => void;
  /** An object is refused. */
  readonly onState: () => void;
  /** An object that is read was added, changed or deleted. */
  readonly onEvent?: ((kind: string, event: "add" | "update" | "delete") => void) | undefined;
}

export class ClusterObjects {
  readonly #options: ClusterObjectsOptions;
  /** By kind: resourceVersions of objects. */
  readonly #held: ReadonlyMap<string, Map<ObjectName, string>>;
  readonly #kinds: ReadonlyMap<string, FollowedKind>;
  readonly #refused = new Map<string, SourceProblem>();

  constructor(options: ClusterObjectsOptions) {
    this.#options = options;
    this.#kinds = new Map(options.kinds.map((one) => [one.kind, one]));
    this.#held = new Map(options.kinds.map(({ kind }) => [kind, new Map()]));
  }

  /** Objects that are refused. */
  problems(): Iterable<SourceProblem> {
    return this.#refused.values();
  }

  /** In the order in which they came. */
  record(event: ClusterEvent): void {
    if (event.type === "list") this.#replace(event.kind, event.objects);
    else if (event.type === "put") this.#put(event.kind, event.object);
    else this.#delete(event.kind, objectNameOf(event.object));
  }

  #replace(kind: string, all: readonly KubeObject[]): void {
    const objects = all.filter((object) => isOfRevision(object, this.#kinds.get(kind)));
    const names = new Set(objects.map(objectNameOf));
    for (const name of [...(this.#held.get(kind)?.keys() ?? [])]) if (!names.has(name)) this.#delete(kind, name);
    for (const object of objects) this.#put(kind, object);
  }

  #put(kind: string, read: KubeObject): void {
    const object = asKnown(read, this.#kinds.get(kind));
    const name = objectNameOf(object);
    if (!isOfRevision(object, this.#kinds.get(kind))) {
      this.#delete(kind, name);
      return;
    }
    const { cluster, onChange, onState, onEvent } = this.#options;
    const version = object.metadata.resourceVersion ?? "";
    const held = this.#held.get(kind);
    if (version !== "" && held?.get(name) === version) return;
    const [finding] = checkKubeObject(object);
    if (finding !== undefined) {
      this.#refused.set(`${kind}/${name}`, { file: "", line: 0, object: `${cluster}: ${kind}/${name}`, ...finding });
      onState();
      return;
    }
    this.#refused.delete(`${kind}/${name}`);
    onEvent?.(kind, held?.has(name) === true ? "update" : "add");
    held?.set(name, version);
    onChange({ type: "object", op: "put", object, cluster });
  }

  #delete(kind: string, object: ObjectName): void {
    this.#refused.delete(`${kind}/${object}`);
    if (this.#held.get(kind)?.delete(object) !== true) return;
    this.#options.onEvent?.(kind, "delete");
    this.#options.onChange({
      type: "object",
      op: "delete",
      key: { kind, ...objectName.read(object) },
      cluster: this.#options.cluster,
    });
  }
}

/** All that the API server has now and that is not refused. @throws KubeError */
export async function listObjects(
  api: KubeApi,
  { cluster, kinds }: Pick<ClusterObjectsOptions, "cluster" | "kinds">,
): Promise<readonly ObjectChange[]> {
  const lists = await Promise.all(
    kinds.map(async (kind) =>
      (await listKind(api, kind)).filter((object) => isOfRevision(object, kind)).map((object) => asKnown(object, kind)),
    ),
  );
  return lists
    .flat()
    .filter((object) => checkKubeObject(object).length === 0)
    .map((object) => ({ type: "object", op: "put", object, cluster }));
}

async function listKind(
  api: KubeApi,
  { path, mayBeAbsent, mayBeRefused }: FollowedKind,
): Promise<readonly KubeObject[]> {
  try {
    return (await listAll<KubeObject>(api, path)).objects;
  } catch (error) {
    const status = error instanceof KubeError ? error.status : undefined;
    if ((mayBeAbsent === true && status === 404) || (mayBeRefused === true && status === 403)) return [];
    throw error;
  }
}

function isOfRevision({ metadata: { labels } }: KubeObject, kind: FollowedKind | undefined): boolean {
  const revision = labels?.["istio.io/rev"];
  return kind?.revision === undefined || revision === undefined || revision === kind.revision;
}

/** The owners of fields take as much room as the object, and are not needed here. */
function asKnown(object: KubeObject, kind: FollowedKind | undefined): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata as KubeObject["metadata"] & {
    readonly managedFields?: unknown;
  };
  return { ...object, ...(kind?.apiVersion === undefined ? {} : { apiVersion: kind.apiVersion }), metadata };
}
