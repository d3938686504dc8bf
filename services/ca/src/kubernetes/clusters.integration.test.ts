/**
 * Two real kube-apiservers: node proxies get certificates for pods of their own node alone, and tokens of another
 * cluster are reviewed there, from the Secret that names it until the Secret is gone.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, it } from "node:test";
import type { KubeApi } from "@flotilla/kube-api";
import { type RunningApiserver, startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import { until } from "@flotilla/runtime";
import { type RunningCa, startCa } from "../main.fixture.ts";
import { type Asked, askAs } from "../raw-request.fixture.ts";

const own: RunningApiserver | undefined = await startKubeApiserver(process.env);
const remote: RunningApiserver | undefined = own && (await startKubeApiserver(process.env));
let ca: RunningCa;

const spiffe = (account: string) => `spiffe://cluster.local/ns/shop/sa/${account}`;
const unauthenticated = 16;

function apiOf(server: RunningApiserver | undefined): KubeApi {
  assert.ok(server !== undefined);
  return server.api;
}

async function createPod(api: KubeApi, [namespace, name, account, nodeName]: readonly string[]): Promise<void> {
  await api.create(`/api/v1/namespaces/${namespace}/pods`, {
    metadata: { namespace, name },
    spec: { nodeName, serviceAccountName: account, containers: [{ name: "c", image: "c" }] },
  });
}

/** As the kubelet has it made for a pod. */
async function tokenOf(api: KubeApi, namespace: string, account: string, pod?: string): Promise<string> {
  const bound = pod === undefined ? undefined : { apiVersion: "v1", kind: "Pod", name: pod };
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`;
  const made = await api.create<{ readonly status: { readonly token: string } }>(path, {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { audiences: ["istio-ca"], ...(bound && { boundObjectRef: bound }) },
  });
  return made.status.token;
}

async function fill(api: KubeApi, pods: readonly (readonly string[])[]): Promise<void> {
  for (const name of ["istio-system", "shop"]) await api.create("/api/v1/namespaces", { metadata: { name } });
  const accounts = new Set(pods.map(([namespace, , account]) => `${namespace}/${account}`));
  for (const text of accounts) {
    const [namespace = "", name] = text.split("/");
    await api.create(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { namespace, name } });
  }
  for (const pod of pods) await createPod(api, pod);
}

const ask = (token: string, more: Partial<Asked> = {}) => askAs(ca, { token, ...more });
const askFor = (token: string, account: string, more: Partial<Asked> = {}) =>
  ask(token, { metadata: { ImpersonatedIdentity: spiffe(account) }, ...more });
const eventually = (what: string, isSo: () => Promise<boolean>) =>
  until(isSo, { withinMs: 60_000, what, everyMs: 100 });

before(async () => {
  if (own === undefined || remote === undefined) return;
  await fill(own.api, [
    ["istio-system", "zt-1", "ztunnel", "n1"],
    ["istio-system", "zt-2", "ztunnel", "n2"],
    ["shop", "a", "a", "n1"],
    ["shop", "b", "b", "n2"],
  ]);
  await fill(remote.api, [
    ["istio-system", "zt-1", "ztunnel", "n1"],
    ["shop", "c", "c", "n1"],
  ]);
  ca = await startCa({
    CLUSTER_KUBECONFIG: own.kubeconfig,
    CA_TRUSTED_NODE_ACCOUNTS: "istio-system/ztunnel",
    CLUSTER_ALIASES: "the-east=east",
  });
});
after(async () => {
  await ca?.[Symbol.asyncDispose]();
  await remote?.[Symbol.asyncDispose]();
  await own?.[Symbol.asyncDispose]();
});

describe("node proxies of a cluster", { skip: own === undefined && whyNoApiserver }, () => {
  it("get certificates for pods of their node", async () => {
    const one = await ask(await tokenOf(apiOf(own), "istio-system", "ztunnel", "zt-1"));
    assert.deepEqual(one.sans, ["spiffe://cluster.local/ns/istio-system/sa/ztunnel"]);
    const { sans } = await askFor(await tokenOf(apiOf(own), "istio-system", "ztunnel", "zt-1"), "a");
    assert.deepEqual(sans, [spiffe("a")]);
    const line = ca.lines.findLast(({ msg }) => msg === "certificate issued");
    assert.equal(line?.["askedBy"], "spiffe://cluster.local/ns/istio-system/sa/ztunnel");
  });

  it("are refused for pods of other nodes: an impersonation that is replayed there, and every other lie", async () => {
    const api = apiOf(own);
    const tokens = {
      another: await tokenOf(api, "istio-system", "ztunnel", "zt-2"),
      unbound: await tokenOf(api, "istio-system", "ztunnel"),
      workload: await tokenOf(api, "shop", "a", "a"),
      right: await tokenOf(api, "istio-system", "ztunnel", "zt-1"),
    };
    const cases = [
      [tokens.another, "a", /no pod of shop\/a runs on node n2/],
      [tokens.unbound, "a", /not bound to a pod/],
      [tokens.workload, "a", /shop\/a is not a trusted node account/],
      [tokens.right, "b", /no pod of shop\/b runs on node n1/],
      [tokens.right, "nobody", /no pod of shop\/nobody/],
    ] as const;
    for (const [token, account, reason] of cases) {
      const refused = await askFor(token, account);
      assert.deepEqual(
        [refused.code, refused.details],
        [unauthenticated, "request impersonation authentication failure"],
      );
      assert.match(String(ca.lines.findLast(({ msg }) => msg === "certificate refused")?.["reason"]), reason);
    }
  });

  it("follow pods as they come, move and end", async () => {
    const api = apiOf(own);
    const token = await tokenOf(api, "istio-system", "ztunnel", "zt-1");
    await api.create("/api/v1/namespaces/shop/serviceaccounts", { metadata: { namespace: "shop", name: "d" } });
    assert.equal((await askFor(token, "d")).code, unauthenticated);
    await createPod(api, ["shop", "d", "d", "n1"]);
    await eventually("the new pod counts", async () => (await askFor(token, "d")).code === 0);
    const path = "/api/v1/namespaces/shop/pods/d";
    const pod = await api.get<{ readonly status: object }>(path);
    await api.replace(`${path}/status`, { ...pod, status: { ...pod?.status, phase: "Succeeded" } });
    await eventually("the pod that ended does not", async () => (await askFor(token, "d")).code === unauthenticated);
  });
});

describe("tokens of another cluster", { skip: own === undefined && whyNoApiserver }, () => {
  const secretPath = "/api/v1/namespaces/istio-system/secrets";
  const elsewhere = { headers: { clusterid: "east" } };

  it("are refused until a Secret names the cluster, and reviewed there from then on", async () => {
    const token = await tokenOf(apiOf(remote), "shop", "c", "c");
    assert.equal((await ask(token, elsewhere)).code, unauthenticated);
    const kubeconfig = await readFile(remote?.kubeconfig ?? "", "utf8");
    const labels = { "istio/multiCluster": "true" };
    await apiOf(own).create(secretPath, { metadata: { name: "east", labels }, stringData: { east: kubeconfig } });
    await eventually("the cluster is known", async () => (await ask(token, elsewhere)).code === 0);
    assert.deepEqual((await ask(token, { headers: { clusterid: "the-east" } })).sans, [spiffe("c")]);
    assert.equal((await ask(token)).code, unauthenticated);
    assert.equal((await ask(await tokenOf(apiOf(own), "shop", "a"), elsewhere)).code, unauthenticated);
  });

  it("node proxies there speak for pods there", async () => {
    const token = await tokenOf(apiOf(remote), "istio-system", "ztunnel", "zt-1");
    await eventually("its pods are known", async () => (await askFor(token, "c", elsewhere)).code === 0);
    assert.equal((await askFor(token, "a", elsewhere)).code, unauthenticated);
  });

  it("a Secret with a bad kubeconfig is reported, and changes nothing", async () => {
    const token = await tokenOf(apiOf(remote), "shop", "c", "c");
    const labels = { "istio/multiCluster": "true" };
    await apiOf(own).create(secretPath, { metadata: { name: "bad", labels }, stringData: { west: "[]" } });
    const isReported = () => ca.lines.some((line) => /data\[west\] is no kubeconfig/.test(String(line["reason"])));
    await eventually("the bad Secret is reported", async () => isReported());
    assert.equal((await ask(token, elsewhere)).code, 0);
  });

  it("are refused when the Secret is gone, also those that were taken before", async () => {
    const token = await tokenOf(apiOf(remote), "shop", "c", "c");
    assert.equal((await ask(token, elsewhere)).code, 0);
    await apiOf(own).delete(`${secretPath}/east`);
    await eventually("the cluster is left", async () => (await ask(token, elsewhere)).code === unauthenticated);
  });
});
