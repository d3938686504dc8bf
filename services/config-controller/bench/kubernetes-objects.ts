/** Objects that the bench puts into an API server: VirtualServices as large as people write them. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { KubeApi, KubeObject } from "@flotilla/kube-api";
import { until } from "@flotilla/runtime";
import { parseAllDocuments } from "yaml";

const crds = fileURLToPath(new URL("../../../packages/kinds/crds/istio.yaml", import.meta.url));
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const namespaces = 20;
/** Requests at a time. */
const lanes = 16;

export function pathOf(index: number): string {
  return `/apis/networking.istio.io/v1/namespaces/n${index % namespaces}/virtualservices`;
}

/** `revision` stands in its content: each is another object. */
export function virtualService(index: number, revision: number): object {
  const name = `s${index}`;
  const host = `${name}.n${index % namespaces}.svc.cluster.local`;
  const to = (subset: string, weight: number) => ({ destination: { host, subset, port: { number: 8080 } }, weight });
  return {
    apiVersion: "networking.istio.io/v1",
    kind: "VirtualService",
    metadata: { name, namespace: `n${index % namespaces}`, labels: { app: name, team: `team-${index % 40}` } },
    spec: {
      hosts: [host, `${name}.example.com`],
      gateways: ["mesh", "istio-system/public"],
      http: [
        {
          name: "canary",
          match: [{ headers: { "x-canary": { exact: "always" } }, uri: { prefix: `/api/${name}/v2` } }],
          route: [to("v2", 100)],
          timeout: `${5 + (revision % 50)}s`,
          headers: { request: { set: { "x-revision": `${revision}` } } },
        },
        {
          name: "default",
          route: [to("v1", 90), to("v2", 10)],
          retries: { attempts: 3, perTryTimeout: "2s", retryOn: "gateway-error,connect-failure,refused-stream" },
        },
      ],
    },
  };
}

export async function define(api: KubeApi): Promise<void> {
  for (const document of parseAllDocuments(await readFile(crds, "utf8"))) {
    const definition = document.toJS() as KubeObject | null;
    if (definition !== null) await api.create(definitions, definition);
  }
  for (let index = 0; index < namespaces; index++)
    await api.create("/api/v1/namespaces", { metadata: { name: `n${index}` } });
  const isServed = async () => (await api.get(`${pathOf(0)}?limit=1`)) !== undefined;
  await until(isServed, { withinMs: 60_000, what: "the kinds to be served", everyMs: 200 });
}

export async function fill(api: KubeApi, count: number): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < count) {
      const index = next++;
      await api.create(pathOf(index), virtualService(index, 0));
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}
