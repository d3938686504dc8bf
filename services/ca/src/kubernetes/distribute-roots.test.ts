/** Objects written to a cluster, by settings and by the material in use: against a few lines of API server. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type KubeApi, KubeError, type KubeObject } from "@flotilla/kube-api";
import { aborted, noopLogger, until } from "@flotilla/runtime";
import type { ActiveMaterial } from "../rotation/active-material.ts";
import { type DistributeOptions, distributeRoots } from "./distribute-roots.ts";

interface Written {
  readonly path: string;
  readonly data: unknown;
}

/** One namespace without any objects; leases and the version of a kind are as a cluster has them. */
function aCluster() {
  const [stored, written]: [Map<string, KubeObject>, Written[]] = [new Map(), []];
  const [holders, followed] = [new Set<string>(), new Set<string>()];
  const candidates: string[] = [];
  let version = 0;
  const store = (path: string, object: unknown): Promise<KubeObject> => {
    const { metadata, ...rest } = object as KubeObject & Readonly<Record<string, unknown>>;
    const kept = { ...rest, metadata: { ...metadata, resourceVersion: String(++version) } };
    stored.set(path, kept);
    if (path.includes("/leases/")) {
      const { holderIdentity } = rest["spec"] as { readonly holderIdentity?: string };
      if (holderIdentity) holders.add(`${path.split("/").at(-1)}`);
      candidates.push(metadata.annotations?.["flotilla.dev/lease-holder"] ?? "");
    } else written.push({ path, data: rest["data"] ?? rest["spec"] });
    return Promise.resolve(kept);
  };
  const listOf = (items: readonly KubeObject[]) => ({ metadata: { resourceVersion: String(version) }, items });
  const api = {
    get: (path: string) => {
      if (path.startsWith("/api/v1/namespaces?")) return Promise.resolve(listOf([{ metadata: { name: "shop" } }]));
      if (path.startsWith("/api/v1/configmaps?")) {
        followed.add(/metadata\.name%3D(\w+)/.exec(path)?.[1] ?? path);
        return Promise.resolve(listOf([]));
      }
      if (/certificates\.k8s\.io\/v1$/.test(path))
        return Promise.resolve({ resources: [{ name: "clustertrustbundles" }] });
      return Promise.resolve(stored.get(path));
    },
    create: (path: string, object: KubeObject) => {
      const whole = `${path}/${object.metadata.name}`;
      if (stored.has(whole)) return Promise.reject(new KubeError("KUBE_CONFLICT", "there already", { status: 409 }));
      return store(whole, object);
    },
    replace: store,
    delete: (path: string) => Promise.resolve(stored.delete(path)),
    lines: async function* (_: string, stop: AbortSignal, onOpen?: () => void) {
      onOpen?.();
      yield { type: "BOOKMARK", object: { metadata: { resourceVersion: String(version) } } };
      await aborted(stop);
    },
  } as unknown as KubeApi;
  return { api, written, holders, followed, candidates };
}

const defaults = {
  ...{ namespace: "istio-system", revision: "default", rootConfigMap: "roots", crlConfigMap: "lists" },
  ...{ clusterTrustBundle: false, distributeCrl: false },
};

/** Objects written until there are `count` of them. */
async function written(settings: object, current: object | undefined, count: number) {
  const stop = new AbortController();
  const cluster = aCluster();
  const running = distributeRoots(
    {
      ...{
        settings: { ...defaults, ...settings } as unknown as DistributeOptions["settings"],
        api: cluster.api,
        version: "1.0.0",
      },
      ...{ active: { current } as unknown as ActiveMaterial, log: noopLogger },
    },
    stop.signal,
  );
  try {
    const isDone = () => cluster.written.length >= count && cluster.holders.size > 0;
    await until(isDone, { withinMs: 10_000, what: "the objects", everyMs: 5 });
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
  } finally {
    stop.abort();
    await running;
  }
  const byPath = cluster.written.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  return { written: byPath.map(({ path, data }) => [path.split("/").slice(-3).join("/"), data]), cluster };
}

describe("the roots of a cluster", () => {
  const [roots, lists] = [{ rootsPem: "R" }, { rootsPem: "R", crlPem: "L" }];
  const rootMap = ["shop/configmaps/roots", { "root-cert.pem": "R" }];
  const listMap = ["shop/configmaps/lists", { "ca-crl.pem": "L" }];

  it("are in a ConfigMap of each namespace", async () => {
    const found = await written({}, lists, 1);
    assert.deepEqual(found.written, [rootMap]);
    assert.equal(found.cluster.holders.size, 1, "one duty");
    assert.deepEqual(found.cluster.followed, new Set(["roots"]));
  });
  it("have revocation lists beside them where those are distributed", async () =>
    assert.deepEqual((await written({ distributeCrl: true }, lists, 2)).written, [listMap, rootMap]));
  it("have none beside them where there are none", async () =>
    assert.deepEqual((await written({ distributeCrl: true }, roots, 1)).written, [rootMap]));
  it("are in a ClusterTrustBundle too, which is a duty of its own", async () => {
    const found = await written({ clusterTrustBundle: true }, roots, 2);
    const [map, bundle] = found.written;
    assert.deepEqual(map, rootMap);
    assert.match(String(bundle?.[0]), /clustertrustbundles/);
    assert.deepEqual(bundle?.[1], { signerName: "istio.io/istiod-ca", trustBundle: "R" });
    assert.equal(found.cluster.holders.size, 2);
  });
  it("are written by a candidate of the default revision or of another one", async () => {
    const isDefault = async (revision: string) => {
      const [candidate = ""] = (await written({ revision }, roots, 1)).cluster.candidates;
      return JSON.parse(candidate).isDefaultRevision;
    };
    assert.deepEqual([await isDefault("default"), await isDefault("canary")], [true, false]);
  });
  it("are written nowhere before there are any", async () =>
    assert.deepEqual((await written({ clusterTrustBundle: true, distributeCrl: true }, undefined, 0)).written, []));
});
