/** Objects of API servers, and the Secrets by which one cluster knows another. */
import { readFile } from "node:fs/promises";
import type { KubeApi, KubeObject } from "@flotilla/kube-api";
import type { RunningApiserver } from "@flotilla/kube-api/src/kube-apiserver.fixture.ts";

const accounts = "/api/v1/namespaces/istio-system/serviceaccounts";
const bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
const secrets = "/api/v1/namespaces/istio-system/secrets";

export async function namespace(
  api: KubeApi,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): Promise<void> {
  await api.create("/api/v1/namespaces", { metadata: { name, labels } });
}

export interface WebOptions {
  readonly addresses: readonly string[];
  readonly name?: string;
}

/** A Service of the namespace shop with one EndpointSlice. */
export async function service(api: KubeApi, { name = "web", addresses }: WebOptions): Promise<void> {
  const spec = { clusterIP: "None", ports: [{ name: "http", port: 80 }] };
  await api.create("/api/v1/namespaces/shop/services", { metadata: { name, namespace: "shop" }, spec });
  await api.create(slices, slice(name, addresses));
}

export async function setAddresses(api: KubeApi, addresses: readonly string[], name = "web"): Promise<void> {
  await api.replace(`${slices}/${name}`, slice(name, addresses));
}

const slices = "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices";

function slice(name: string, addresses: readonly string[]): unknown {
  return {
    metadata: { name, namespace: "shop", labels: { "kubernetes.io/service-name": name } },
    addressType: "IPv4",
    endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
  };
}

/** A kubeconfig for `server` with a token of an account of its own. */
export async function credentials({ api, kubeconfig }: RunningApiserver, account: string): Promise<string> {
  await api.create(accounts, { metadata: { name: account, namespace: "istio-system" } });
  await api.create(bindings, {
    metadata: { name: account },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ kind: "ServiceAccount", name: account, namespace: "istio-system" }],
  });
  const spec = { audiences: ["https://kubernetes.default.svc"] };
  const made = await api.create<{ readonly status: { readonly token: string } }>(`${accounts}/${account}/token`, {
    spec,
  });
  const document = JSON.parse(await readFile(kubeconfig, "utf8")) as object;
  return JSON.stringify({ ...document, users: [{ name: "admin", user: { token: made.status.token } }] });
}

export async function revoke(api: KubeApi, account: string): Promise<void> {
  await api.delete(`${accounts}/${account}`);
  await api.delete(`${bindings}/${account}`);
}

/** Makes or changes the Secret of one cluster. */
export async function setRemoteSecret(api: KubeApi, cluster: string, kubeconfig: string): Promise<void> {
  const data = { [cluster]: Buffer.from(kubeconfig).toString("base64") };
  const there = await api.get<KubeObject>(`${secrets}/${cluster}`);
  const labels = { "istio/multiCluster": "true" };
  if (there === undefined)
    await api.create(secrets, { metadata: { name: cluster, namespace: "istio-system", labels }, data });
  else await api.replace(`${secrets}/${cluster}`, { ...there, data });
}

export function deleteRemoteSecret(api: KubeApi, cluster: string): Promise<boolean> {
  return api.delete(`${secrets}/${cluster}`);
}
