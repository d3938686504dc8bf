/** Which kinds of configuration an API server serves now, and where: CRDs come and go while it runs. */

import { type Kind, kinds } from "@flotilla/kinds";
import type { KubeApi } from "@flotilla/kube-api";
import { configKind } from "@flotilla/registry/config";

export interface ServedKind {
  readonly kind: Kind;
  /** Of all objects of the kind, in the newest version that both sides know. */
  readonly path: string;
}

/** What configuration does not refer to, and what Kubernetes and Helm make in great numbers. */
const selectors: Readonly<Record<string, string>> = {
  Secret: "type!=helm.sh/release.v1,type!=kubernetes.io/service-account-token",
  ConfigMap: "metadata.name!=istio-ca-root-cert,metadata.name!=kube-root-ca.crt",
};

/** By the mesh's name of the kind. @throws KubeError */
export async function servedKinds(api: KubeApi): Promise<ReadonlyMap<string, ServedKind>> {
  const wanted = kinds.filter(({ group, versions: [version = ""], kind }) => {
    return configKind(group === "" ? version : `${group}/${version}`, kind) !== undefined;
  });
  const served = new Map<string, ServedKind>();
  for (const [group, rows] of Map.groupBy(wanted, ({ group }) => group)) {
    const plurals = await pluralsByVersion(api, group, rows);
    for (const kind of rows) {
      const version = kind.versions.find((one) => plurals.get(one)?.has(kind.plural) === true);
      if (version === undefined) continue;
      const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
      const selector = selectors[kind.name];
      const query = selector === undefined ? "" : `?fieldSelector=${encodeURIComponent(selector)}`;
      served.set(kind.name, { kind, path: `${root}/${kind.plural}${query}` });
    }
  }
  return served;
}

interface ResourceList {
  readonly resources: readonly { readonly name: string }[];
}

async function pluralsByVersion(
  api: KubeApi,
  group: string,
  rows: readonly Kind[],
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const versions = new Set(rows.flatMap((row) => row.versions));
  const found = new Map<string, ReadonlySet<string>>();
  for (const version of versions) {
    const list = await api.get<ResourceList>(group === "" ? `/api/${version}` : `/apis/${group}/${version}`);
    if (list !== undefined) found.set(version, new Set(list.resources.map(({ name }) => name)));
  }
  return found;
}
