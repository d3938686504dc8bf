/** An ambient mesh in a Kubernetes API: services and pods by number, each pod of one service and one node. */
import { type KubeApi, KubeError, type KubeObject } from "@flotilla/kube-api";

/** Requests at a time. */
const lanes = 16;
const namespace = "bench";
const home = `/api/v1/namespaces/${namespace}`;

export interface MeshSize {
  readonly services: number;
  readonly pods: number;
  readonly nodes: number;
}

/** The name of a pod at ztunnels. */
export function uidOf(pod: number): string {
  return `Kubernetes//Pod/${namespace}/p-${pod}`;
}

export async function fillMesh(api: KubeApi, { services, pods, nodes }: MeshSize): Promise<void> {
  for (const name of [namespace, "istio-system"])
    await unlessThere(api.create("/api/v1/namespaces", { metadata: { name } }));
  await api.create(`${home}/serviceaccounts`, { metadata: { name: "app", namespace } });
  await inLanes(nodes, (node) => api.create("/api/v1/nodes", nodeObject(node)));
  await inLanes(services, (service) => api.create(`${home}/services`, serviceObject(service)));
  await inLanes(pods, async (pod) => {
    await createPod(api, pod, { services, nodes });
    await giveAddress(api, pod, { services, nodes });
  });
}

async function unlessThere(creation: Promise<unknown>): Promise<void> {
  try {
    await creation;
  } catch (error) {
    if (!(error instanceof KubeError) || error.code !== "KUBE_CONFLICT") throw error;
  }
}

/** `work` for each index below `count`, some at a time. */
export async function inLanes(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) await work(index);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

export type Spread = Pick<MeshSize, "services" | "nodes">;

export async function createPod(api: KubeApi, pod: number, spread: Spread): Promise<void> {
  const { status: _, ...object } = podObject(pod, spread, 0);
  await api.create(`${home}/pods`, object);
}

/** The pod runs and has an address: from here on it is a workload. Another `revision` is another address. */
export async function giveAddress(api: KubeApi, pod: number, spread: Spread, revision = 0): Promise<void> {
  await api.replace(`${home}/pods/p-${pod}/status`, podObject(pod, spread, revision));
}

export function deletePod(api: KubeApi, pod: number): Promise<boolean> {
  return api.delete(`${home}/pods/p-${pod}?gracePeriodSeconds=0`);
}

function nodeObject(node: number): KubeObject {
  const labels = { "topology.kubernetes.io/region": "r", "topology.kubernetes.io/zone": `z${node % 3}` };
  return { apiVersion: "v1", kind: "Node", metadata: { name: `n-${node}`, labels } } as KubeObject;
}

function serviceObject(service: number): KubeObject {
  const spec = {
    // The range of an API server may be smaller than the mesh.
    clusterIP: "None",
    ...{ ports: [{ name: "http", port: 80, targetPort: 8080 }], selector: { app: `s-${service}` } },
  };
  return { apiVersion: "v1", kind: "Service", metadata: { name: `s-${service}`, namespace }, spec } as KubeObject;
}

function podObject(pod: number, { services, nodes }: Spread, revision: number) {
  const podIP = `10.${100 + revision}.${pod >> 8}.${pod & 255}`;
  return {
    ...{ apiVersion: "v1", kind: "Pod" },
    metadata: {
      ...{ name: `p-${pod}`, namespace, labels: { app: `s-${pod % services}` } },
      annotations: { "ambient.istio.io/redirection": "enabled" },
    },
    spec: {
      ...{ nodeName: `n-${pod % nodes}`, serviceAccountName: "app" },
      containers: [{ name: "app", image: "app", ports: [{ containerPort: 8080 }] }],
    },
    status: {
      ...{ phase: "Running", podIP, podIPs: [{ ip: podIP }] },
      conditions: [{ type: "Ready", status: "True" }],
    },
  };
}
