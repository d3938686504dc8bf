/** Multi-cluster services in real API servers that have the kinds under a group of their own: two clusters that export and import. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, it } from "node:test";
import { connectBus, createPublisher } from "@flotilla/bus";
import { type KubeApi, listAll } from "@flotilla/kube-api";
import { type RunningApiserver, startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import type { ConfigChange, KubeObject } from "@flotilla/model";
import { noopLogger, until } from "@flotilla/runtime";
import { freePort } from "@flotilla/servers";
import { main } from "../main.ts";

const own: RunningApiserver | undefined = await startKubeApiserver(process.env);
const east: RunningApiserver | undefined = own && (await startKubeApiserver(process.env));
after(async () => {
  await own?.[Symbol.asyncDispose]();
  await east?.[Symbol.asyncDispose]();
});

const group = "sets.example.com";
const version = "v1beta1";
const at = `/apis/${group}/${version}`;
const soon = (what: string) => ({ withinMs: 60_000, what, everyMs: 100 });

async function define(api: KubeApi, kind: string): Promise<void> {
  const plural = `${kind.toLowerCase()}s`;
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  await api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      scope: "Namespaced",
      versions: [{ name: version, served: true, storage: true, schema }],
    },
  });
  await until(() => api.get(`${at}/${plural}`).then((list) => list !== undefined), soon(`${plural} to be served`));
}

async function addService(api: KubeApi, namespace: string, name: string, address: string): Promise<void> {
  const metadata = { name, namespace };
  const spec = { ports: [{ name: "http", port: 80 }] };
  await api.create(`/api/v1/namespaces/${namespace}/services`, { metadata, spec });
  await api.create(`/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`, {
    metadata: { ...metadata, labels: { "kubernetes.io/service-name": name } },
    addressType: "IPv4",
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
  });
}

async function exported(api: KubeApi): Promise<readonly string[]> {
  const { objects } = await listAll<KubeObject>(api, `${at}/serviceexports`);
  return objects.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`).sort();
}

describe("services of two clusters", { skip: own === undefined && whyNoApiserver }, () => {
  const stop = new AbortController();
  let serving: Promise<void> = Promise.resolve();
  let url = "";

  before(async () => {
    if (own === undefined || east === undefined) return;
    for (const { api } of [own, east]) {
      for (const kind of ["ServiceExport", "ServiceImport"]) await define(api, kind);
      for (const name of ["istio-system", "shop"]) await api.create("/api/v1/namespaces", { metadata: { name } });
    }
    await addService(own.api, "shop", "web", "10.1.0.1");
    await addService(own.api, "shop", "private", "10.1.0.2");
    await addService(own.api, "kube-system", "dns", "10.1.0.3");
    await addService(east.api, "shop", "web", "10.2.0.1");
    await own.api.create("/api/v1/namespaces/istio-system/secrets", {
      metadata: { name: "east", namespace: "istio-system", labels: { "istio/multiCluster": "true" } },
      data: { east: (await readFile(east.kubeconfig)).toString("base64") },
    });
    const busUrl = "embedded:exports";
    const bus = await connectBus({ url: busUrl, clientName: "t", log: noopLogger }, stop.signal);
    const options = { bus, seal: undefined, log: noopLogger, nowMs: Date.now };
    const key = { kind: "MeshConfig", namespace: "", name: "mesh" };
    const spec = { serviceSettings: [{ hosts: ["private.shop.svc.cluster.local"], settings: { clusterLocal: true } }] };
    const value = { key, labels: {}, annotations: {}, creationTimeMs: 0, spec };
    const mesh: ConfigChange = { type: "config", op: "put", key, value };
    await createPublisher({ ...options, publisher: "config-controller" }).synchronize([mesh]);
    const port = String(await freePort());
    url = `http://127.0.0.1:${port}/debug`;
    serving = main(
      {
        ...{ BUS_URL: busUrl, CLUSTER_KUBECONFIG: own.kubeconfig, POD_NAMESPACE: "istio-system" },
        ...{ HEALTH_HOST: "127.0.0.1", HEALTH_PORT: port, LOG_LEVEL: "silent" },
        ...{ ENABLE_MCS_AUTO_EXPORT: "true", ENABLE_MCS_HOST: "true", ENABLE_MCS_SERVICE_DISCOVERY: "true" },
        ...{ MCS_API_GROUP: group, MCS_API_VERSION: version },
      },
      stop.signal,
    ).finally(() => bus[Symbol.asyncDispose]());
  });
  after(async () => {
    stop.abort();
    await serving;
  });

  it("are exported, but for those that each cluster means its own of", async () => {
    assert.ok(own !== undefined && east !== undefined);
    await until(async () => (await exported(own.api)).length > 0, soon("exports of the own cluster"));
    await until(async () => (await exported(east.api)).length > 0, soon("exports of the other"));
    assert.deepEqual(await exported(own.api), ["shop/web"]);
    assert.deepEqual(await exported(east.api), ["shop/web"]);
    const stored = await own.api.get<KubeObject>(`${at}/namespaces/shop/serviceexports/web`);
    const [owner] = stored?.metadata.ownerReferences ?? [];
    const service = await own.api.get<KubeObject>("/api/v1/namespaces/shop/services/web");
    assert.deepEqual([owner?.kind, owner?.name, owner?.uid], ["Service", "web", service?.metadata.uid]);
  });

  it("whose export somebody removes stay within their cluster", async () => {
    assert.ok(own !== undefined);
    await addService(own.api, "shop", "late", "10.1.0.4");
    await until(async () => (await exported(own.api)).includes("shop/late"), soon("the export of a new service"));
    await own.api.delete(`${at}/namespaces/shop/serviceexports/late`);
    await addService(own.api, "shop", "later", "10.1.0.5");
    await until(async () => (await exported(own.api)).includes("shop/later"), soon("the export of the next"));
    assert.deepEqual(await exported(own.api), ["shop/later", "shop/web"]);
  });

  it("are imported with the addresses that each cluster has for them", async () => {
    assert.ok(own !== undefined && east !== undefined);
    const add = (api: KubeApi, ip: string) =>
      api.create(`${at}/namespaces/shop/serviceimports`, {
        ...{ apiVersion: `${group}/${version}`, kind: "ServiceImport" },
        metadata: { name: "web", namespace: "shop" },
        spec: { type: "ClusterSetIP", ips: [ip], ports: [] },
      });
    await add(east.api, "243.0.0.1");
    const page = async (name: string) => (await fetch(`${url}/${name}`)).text();
    await until(async () => (await page("registryz")).includes("243.0.0.1"), soon("the import of the other cluster"));
    await add(own.api, "242.0.0.1");
    await until(async () => (await page("registryz")).includes("242.0.0.1"), soon("the import of the own cluster"));
    const endpoints = await page("endpointz?host=web.shop.svc.clusterset.local");
    for (const address of ["10.1.0.1", "10.2.0.1"]) assert.ok(endpoints.includes(address), endpoints);
  });
});
