/** Objects of API servers, and the Secrets by which one cluster gains access to another. */
import { readFile } from "node:fs/promises";
import type { KubeApi, KubeObject } from "@flotilla/kube-api";
import type { RunningApiserver } from "@flotilla/kube-api/testing";
import { until } from "@flotilla/runtime";
import { parseAllDocuments } from "yaml";

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

export const workloadEntries = "/apis/networking.istio.io/v1/namespaces/shop/workloadentries";
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const crds = new URL("../../../../packages/kinds/crds/istio.yaml", import.meta.url);

/** Resolves when the API server serves the kind. */
export async function defineWorkloadEntries(api: KubeApi): Promise<void> {
  const all = parseAllDocuments(await readFile(crds, "utf8")).map((one) => one.toJS() as KubeObject | null);
  const definition = all.find((one) => one?.metadata.name === "workloadentries.networking.istio.io");
  if (definition === undefined) throw new Error("there is no definition of WorkloadEntries");
  await api.create(definitions, definition);
  const isServed = async () => (await api.get(workloadEntries)) !== undefined;
  await until(isServed, { withinMs: 60_000, what: "WorkloadEntries to be served", everyMs: 100 });
}

/** A Service of the namespace shop for machines with the label app: vm. */
export async function selectingService(api: KubeApi, name: string): Promise<void> {
  const spec = { ports: [{ name: "http", port: 80, targetPort: 8080 }], selector: { app: "vm" } };
  await api.create("/api/v1/namespaces/shop/services", { metadata: { name, namespace: "shop" }, spec });
}

/** A WorkloadEntry with the label app: vm. */
export async function machine(
  api: KubeApi,
  name: string,
  address: string,
  labels: Readonly<Record<string, string>> = {},
): Promise<void> {
  await api.create(workloadEntries, {
    ...{ apiVersion: "networking.istio.io/v1", kind: "WorkloadEntry" },
    metadata: { name, namespace: "shop", labels },
    spec: { address, ports: { http: 8080 }, labels: { app: "vm" } },
  });
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

/** A running pod of the mesh with this address, in the namespace shop. */
export async function pod(
  api: KubeApi,
  name: string,
  ip: string,
  labels: Readonly<Record<string, string>>,
): Promise<void> {
  const pods = "/api/v1/namespaces/shop/pods";
  const metadata = { name, namespace: "shop", labels: { "security.istio.io/tlsMode": "istio", ...labels } };
  const made = await api.create<KubeObject>(pods, { metadata, spec: { containers: [{ name: "app", image: "app" }] } });
  const conditions = [{ type: "Ready", status: "True" }];
  const status = { phase: "Running", podIP: ip, podIPs: [{ ip }], conditions };
  await api.replace(`${pods}/${name}/status`, { ...made, status });
}

/** The gateway through which a network is reached from others. */
export async function networkGateway(api: KubeApi, network: string, address: string): Promise<void> {
  const services = "/api/v1/namespaces/istio-system/services";
  const metadata = { name: "eastwest", namespace: "istio-system", labels: { "topology.istio.io/network": network } };
  const ports = [{ name: "tls", port: 15443 }];
  const made = await api.create<KubeObject>(services, { metadata, spec: { type: "LoadBalancer", ports } });
  await api.replace(`${services}/eastwest/status`, {
    ...made,
    status: { loadBalancer: { ingress: [{ ip: address }] } },
  });
}

/** Makes Gateways known to the cluster, and one that names the address by which its network is reached; removes it when called. */
export async function gatewayOfNetwork(
  api: KubeApi,
  network: string,
  address: string,
): Promise<() => Promise<boolean>> {
  const group = "gateway.networking.k8s.io";
  await define(api, group, "v1", "Gateway");
  const gateways = `/apis/${group}/v1/namespaces/istio-system/gateways`;
  const metadata = { name: "by-hand", namespace: "istio-system", labels: { "topology.istio.io/network": network } };
  const spec = {
    gatewayClassName: "istio-east-west",
    addresses: [{ type: "IPAddress", value: address }],
    listeners: [{ name: "cross", port: 15443, protocol: "TLS", tls: { mode: "Passthrough" } }],
  };
  const isMade = () => created(api, gateways, { apiVersion: `${group}/v1`, kind: "Gateway", metadata, spec });
  await until(isMade, { withinMs: 60_000, what: "the API server to know Gateways", everyMs: 100 });
  return () => api.delete(`${gateways}/by-hand`);
}

/** An EndpointSlice of the namespace shop whose endpoints are these pods. */
export async function sliceOfPods(
  api: KubeApi,
  service: string,
  pods: Readonly<Record<string, string>>,
): Promise<void> {
  const endpoints = Object.entries(pods).map(([name, ip]) => ({
    addresses: [ip],
    conditions: { ready: true },
    targetRef: { kind: "Pod", name, namespace: "shop" },
  }));
  await api.create(slices, { ...(slice(`${service}-pods`, []) as object), endpoints, ...ownedBy(service) });
}

function ownedBy(service: string) {
  return {
    metadata: { name: `${service}-pods`, namespace: "shop", labels: { "kubernetes.io/service-name": service } },
  };
}

/** Makes ServiceExport known to the cluster, and one for a service of the namespace shop. */
export async function exportService(api: KubeApi, name: string): Promise<void> {
  const group = "multicluster.x-k8s.io";
  await define(api, group, "v1alpha1", "ServiceExport");
  const path = `/apis/${group}/v1alpha1/namespaces/shop/serviceexports`;
  const object = { apiVersion: `${group}/v1alpha1`, kind: "ServiceExport", metadata: { name, namespace: "shop" } };
  const isMade = () => created(api, path, object);
  await until(isMade, { withinMs: 60_000, what: "the API server to know ServiceExport", everyMs: 100 });
}

function created(api: KubeApi, path: string, object: unknown): Promise<boolean> {
  return api.create(path, object).then(
    () => true,
    () => false,
  );
}

/** A kind whose objects may have any content. Served a moment later. */
async function define(api: KubeApi, group: string, version: string, kind: string): Promise<void> {
  const singular = kind.toLowerCase();
  const plural = `${singular}s`;
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  const annotations = { "api-approved.kubernetes.io": "unapproved, for a test" };
  await api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
    metadata: { name: `${plural}.${group}`, annotations },
    spec: {
      group,
      names: { plural, singular, kind, listKind: `${kind}List` },
      scope: "Namespaced",
      versions: [{ name: version, served: true, storage: true, schema }],
    },
  });
}
