/** Two real kube-apiservers: with EXTERNAL_ISTIOD the roots reach the namespaces of another cluster while its annotation names this one. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, it } from "node:test";
import type { ConfigMap, KubeApi, KubeObject } from "@flotilla/kube-api";
import { type RunningApiserver, startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import { delay, until } from "@flotilla/runtime";
import { type RunningCa, startCa } from "../main.fixture.ts";

const own: RunningApiserver | undefined = await startKubeApiserver(process.env);
const remote: RunningApiserver | undefined = own && (await startKubeApiserver(process.env));
const annotation = "topology.istio.io/controlPlaneClusters";
const systemNamespace = "/api/v1/namespaces/istio-system";
const mapIn = (namespace: string) => `/api/v1/namespaces/${namespace}/configmaps/istio-ca-root-cert`;
const soon = (what: string) => ({ withinMs: 60_000, what, everyMs: 100 });

async function annotate(api: KubeApi, value: string): Promise<void> {
  const namespace = await api.get<KubeObject>(systemNamespace);
  const metadata = { ...namespace?.metadata, annotations: { [annotation]: value } };
  await api.replace(systemNamespace, { ...namespace, metadata });
}

describe("remote clusters", { skip: own === undefined && whyNoApiserver }, () => {
  let ca: RunningCa;
  const servers = (): readonly [RunningApiserver, RunningApiserver] => {
    assert.ok(own !== undefined && remote !== undefined);
    return [own, remote];
  };
  const rootIn = async (api: KubeApi, namespace: string) =>
    (await api.get<ConfigMap>(mapIn(namespace)))?.data?.["root-cert.pem"];
  const start = (env: Readonly<Record<string, string>>) =>
    startCa({ CLUSTER_KUBECONFIG: servers()[0].kubeconfig, CLUSTER_ID: "main", ...env });
  const logged = (text: string) => until(() => ca.lines.some(({ msg }) => msg === text), soon(text));

  before(async () => {
    const [home, east] = servers();
    for (const { api } of [home, east])
      for (const name of ["istio-system", "shop"]) await api.create("/api/v1/namespaces", { metadata: { name } });
    await home.api.create(`${systemNamespace}/secrets`, {
      metadata: { name: "east", labels: { "istio/multiCluster": "true" } },
      stringData: { east: await readFile(east.kubeconfig, "utf8") },
    });
    ca = await start({ EXTERNAL_ISTIOD: "true" });
  });
  after(async () => {
    await ca?.[Symbol.asyncDispose]();
    await remote?.[Symbol.asyncDispose]();
    await own?.[Symbol.asyncDispose]();
  });

  it("have nothing of us while they name other clusters", async () => {
    const [home, east] = servers();
    await annotate(east.api, "other,another");
    await until(async () => (await rootIn(home.api, "shop")) === ca.rootsPem, soon("the roots here"));
    await delay(1_500);
    assert.equal(await rootIn(east.api, "shop"), undefined);
  });

  it("have the roots in every namespace while they name this cluster, or any", async () => {
    const [, { api }] = servers();
    for (const name of ["other,main", "*"]) {
      await annotate(api, name);
      await until(async () => (await rootIn(api, "shop")) === ca.rootsPem, soon("the roots there"));
      await api.delete(mapIn("shop"));
      await until(async () => (await rootIn(api, "shop")) === ca.rootsPem, soon("the roots there again"));
    }
  });

  it("are left alone when they name this cluster no longer", async () => {
    const [, { api }] = servers();
    await annotate(api, "other");
    await logged("remote cluster no longer controlled");
    await api.delete(mapIn("shop"));
    await delay(1_500);
    assert.equal(await rootIn(api, "shop"), undefined);
  });

  it("are left alone without EXTERNAL_ISTIOD, whatever they name", async () => {
    const [home, { api }] = servers();
    await annotate(api, "*");
    await logged("remote cluster controlled");
    await ca[Symbol.asyncDispose]();
    await api.delete(mapIn("shop"));
    await home.api.delete(mapIn("shop"));
    ca = await start({});
    await until(async () => (await rootIn(home.api, "shop")) === ca.rootsPem, soon("the roots here"));
    await delay(1_500);
    assert.equal(await rootIn(api, "shop"), undefined);
  });
});
