/** Discovers the kinds of configuration that an API server serves now, and their paths: CRDs come and go while it runs. */

import { type Kind, kinds } from "@flotilla/kinds";
import type { KubeApi } from "@flotilla/kube-api";
import { ownValue } from "@flotilla/model";
import { configKind } from "@flotilla/registry/config";

/** Selects the part of all objects to read. */
export interface Scope {
  /** Empty: all of them. Kinds without a namespace are always read. */
  readonly namespaces: readonly string[];
  /** Resources such as `virtualservices.networking.istio.io`, or `*.networking.istio.io` for a whole group. */
  readonly ignored: readonly string[];
  /** The same, and read although ignored. */
  readonly included: readonly string[];
}

/** A list to read: one kind, of all namespaces or of one. */
export interface ServedKind {
  readonly kind: Kind;
  /** Undefined: of all. */
  readonly namespace: string | undefined;
  /** In the newest version that both sides support. */
  readonly path: string;
}

/** Excludes objects that configuration does not refer to, and that Kubernetes and Helm create in great numbers. */
export const fieldSelectors = {
  Secret: "type!=helm.sh/release.v1,type!=kubernetes.io/service-account-token",
  ConfigMap: "metadata.name!=istio-ca-root-cert,metadata.name!=kube-root-ca.crt",
} as const;

/** Kinds that shall be read wherever they are served. */
export function wantedKinds({ ignored, included }: Pick<Scope, "ignored" | "included">): readonly Kind[] {
  return kinds.filter(({ group, versions: [version = ""], kind, plural }) => {
    if (configKind(group === "" ? version : `${group}/${version}`, kind) === undefined) return false;
    const isIn = (list: readonly string[]) => list.includes(`${plural}.${group}`) || list.includes(`*.${group}`);
    return !isIn(ignored) || isIn(included);
  });
}

/** By `Kind`, or `Kind of namespace NAME`. @throws KubeError */
export async function servedKinds(
  api: KubeApi,
  wanted: readonly Kind[],
  namespaces: readonly string[],
): Promise<ReadonlyMap<string, ServedKind>> {
  const served = new Map<string, ServedKind>();
  for (const [group, rows] of Map.groupBy(wanted, ({ group }) => group)) {
    const plurals = await pluralsByVersion(api, group, rows);
    for (const kind of rows) {
      const version = kind.versions.find((one) => plurals.get(one)?.has(kind.plural) === true);
      if (version === undefined) continue;
      const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
      const selector = ownValue<string>(fieldSelectors, kind.name);
      const query = selector === undefined ? "" : `?fieldSelector=${encodeURIComponent(selector)}`;
      if (!kind.namespaced || namespaces.length === 0)
        served.set(kind.name, { kind, namespace: undefined, path: `${root}/${kind.plural}${query}` });
      else
        for (const namespace of namespaces) {
          const path = `${root}/namespaces/${encodeURIComponent(namespace)}/${kind.plural}${query}`;
          served.set(`${kind.name} of namespace ${namespace}`, { kind, namespace, path });
        }
    }
  }
  return served;
}

/** Of several API servers one may know a new kind later than the one that gave the tag. */
const settleMs = 30_000;

export interface ServedKindsOptions {
  readonly api: KubeApi;
  readonly wanted: readonly Kind[];
  readonly namespaces: readonly string[];
  readonly nowMs: () => number;
}

/** The kinds that are served, by one small request as long as they are the same: their lists are 15 requests and 100 KB. */
export class ServedKinds {
  readonly #options: ServedKindsOptions;
  #tag: string | undefined;
  #changedAtMs = Number.NEGATIVE_INFINITY;
  #last: ReadonlyMap<string, ServedKind> | undefined;

  constructor(options: ServedKindsOptions) {
    this.#options = options;
  }

  /** @throws KubeError */
  async read(): Promise<ReadonlyMap<string, ServedKind>> {
    const { api, wanted, namespaces, nowMs } = this.#options;
    const tag = await api.kindsTag(this.#tag);
    if (tag === undefined || tag !== this.#tag) this.#changedAtMs = nowMs();
    this.#tag = tag;
    if (this.#last !== undefined && nowMs() - this.#changedAtMs >= settleMs) return this.#last;
    this.#last = undefined;
    this.#last = await servedKinds(api, wanted, namespaces);
    return this.#last;
  }
}

interface ResourceList {
  readonly resources: readonly { readonly name: string }[];
}

async function pluralsByVersion(
  api: KubeApi,
  group: string,
  rows: readonly Kind[],
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const versions = [...new Set(rows.flatMap((row) => row.versions))];
  const found = new Map<string, ReadonlySet<string>>();
  const lists = versions.map(async (version) => {
    const list = await api.get<ResourceList>(group === "" ? `/api/${version}` : `/apis/${group}/${version}`);
    if (list !== undefined) found.set(version, new Set(list.resources.map(({ name }) => name)));
  });
  await Promise.all(lists);
  return found;
}
