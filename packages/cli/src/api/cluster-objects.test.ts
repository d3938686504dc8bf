/** The objects of a cluster as a user's commands read them: of wanted kinds, in the first version that is served. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryApi } from "@flotilla/kube-api/memory";
import { clusterObjects, openUsersCluster } from "./cluster-objects.ts";

const networking = "/apis/networking.istio.io/v1/namespaces/shop";

describe("objects of a cluster", () => {
  it("have the version and kind of their list, core ones and others", async () => {
    const { api } = createMemoryApi({
      "/api/v1/namespaces/shop/services/web": { spec: {} },
      [`${networking}/gateways/edge`]: { spec: { servers: [] } },
      [`${networking}/sidecars/s`]: { spec: {} },
    });
    const objects = await clusterObjects(api, (kind) => kind === "Service" || kind === "Gateway");
    assert.deepEqual(
      objects
        .map(({ apiVersion, kind, metadata }) => `${apiVersion} ${kind} ${metadata.namespace}/${metadata.name}`)
        .sort(),
      ["networking.istio.io/v1 Gateway shop/edge", "v1 Service shop/web"],
    );
  });

  it("are read once, in the first version that the cluster serves", async () => {
    const memory = createMemoryApi({ [`${networking}/gateways/edge`]: { spec: {} } });
    const served = new Set(["v1beta1"]);
    const objects = { [`/apis/networking.istio.io/v1beta1/namespaces/shop/gateways/old`]: { spec: {} } };
    for (const [path, object] of Object.entries(objects)) memory.put(path, object);
    const api = {
      ...memory.api,
      get: async (path: string) => {
        const version = /networking\.istio\.io\/([^/]+)/.exec(path)?.[1];
        return version !== undefined && served.has(version) ? await memory.api.get(path) : undefined;
      },
    } as typeof memory.api;
    const names = async () =>
      (await clusterObjects(api, (kind) => kind === "Gateway")).map(
        ({ apiVersion, metadata }) => `${apiVersion} ${metadata.name}`,
      );
    assert.deepEqual(await names(), ["networking.istio.io/v1beta1 old"]);
    served.add("v1");
    assert.deepEqual(await names(), ["networking.istio.io/v1 edge"]);
    served.clear();
    assert.deepEqual(await names(), []);
  });

  it("need a kubeconfig", () =>
    assert.rejects(openUsersCluster("/no/kubeconfig", {}), /there is no file \/no\/kubeconfig/));
  it("are of the kubeconfig that the environment names", () =>
    assert.rejects(openUsersCluster(undefined, { KUBECONFIG: "/named/by/env" }), /\/named\/by\/env/));
});
