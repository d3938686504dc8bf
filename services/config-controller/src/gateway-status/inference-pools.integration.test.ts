/** InferencePools in a real API server: the Service in front of each, and their status. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { defaultClassSettings } from "@flotilla/gateway-api";
import type { KubeApi } from "@flotilla/kube-api";
import { type RunningApiserver, startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import { noopLogger, until } from "@flotilla/runtime";
import { aLoadBalancer, anObject, publishMesh } from "./gateway-status.fixture.ts";
import { GatewayStatus } from "./gateway-status.ts";

const server: RunningApiserver | undefined = await startKubeApiserver(process.env);
after(() => server?.[Symbol.asyncDispose]());

const group = "inference.networking.k8s.io";
const pools = `/apis/${group}/v1/namespaces/default/inferencepools`;
const services = "/api/v1/namespaces/default/services";
const serviceOf = { llama: "llama-ip-fc5a1047", gemma: "gemma-ip-3fb22a55" };
const soon = (what: string) => ({ withinMs: 60_000, what, everyMs: 50 });

/** The definition, as far as this test needs it: any field is taken. */
async function defineKind(api: KubeApi): Promise<void> {
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  const annotations = { "api-approved.kubernetes.io": "unapproved, for tests" };
  await api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
    ...{ apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" },
    metadata: { name: `inferencepools.${group}`, annotations },
    spec: {
      ...{ group, scope: "Namespaced" },
      names: { kind: "InferencePool", plural: "inferencepools", singular: "inferencepool" },
      versions: [{ name: "v1", served: true, storage: true, schema, subresources: { status: {} } }],
    },
  } as never);
  await until(async () => (await api.get(pools)) !== undefined, soon("pools are served"));
}

interface StoredPool {
  readonly metadata: { readonly uid: string };
  readonly status?: { readonly parents?: readonly { readonly conditions: readonly Condition[] }[] };
}

interface Condition {
  readonly type: string;
  readonly status: string;
}

interface StoredService {
  readonly metadata: {
    readonly resourceVersion: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly { readonly uid: string }[];
  };
  readonly spec: { readonly clusterIP: string; readonly ports: readonly { readonly targetPort: number }[] };
}

const spec = (targetPort: number) => ({
  selector: { matchLabels: { app: "llama" } },
  targetPorts: [{ number: targetPort }],
  endpointPickerRef: { name: "picker", port: { number: 9002 } },
});
const gateway = { gatewayClassName: "istio", listeners: [{ name: "http", port: 80, protocol: "HTTP" }] };
const route = {
  parentRefs: [{ name: "edge" }],
  rules: Object.keys(serviceOf).map((name) => ({ backendRefs: [{ group, kind: "InferencePool", name, port: 80 }] })),
};

describe("InferencePools", { skip: server === undefined && whyNoApiserver }, () => {
  it("have a Service each, which follows them, unless it is somebody else's", { timeout: 120_000 }, async () => {
    assert.ok(server !== undefined);
    const { api } = server;
    await defineKind(api);
    for (const name of ["llama", "gemma", "unused"])
      await api.create(pools, {
        apiVersion: `${group}/v1`,
        kind: "InferencePool",
        metadata: { name },
        spec: spec(8000),
      } as never);
    const ports = [{ port: 1 }];
    await api.create(services, { metadata: { name: serviceOf.gemma }, spec: { ports } } as never);

    await using mesh = await publishMesh("inference-pools");
    await mesh.put(...aLoadBalancer("default", "picker", "192.0.2.9"));
    const options = { api, domain: "cluster.local", classes: defaultClassSettings, namespaces: [] };
    const stop = new AbortController();
    const running = new GatewayStatus({
      ...{ ...options, ...mesh, onWritten: () => undefined, log: noopLogger, nowMs: Date.now },
    }).run(stop.signal);
    try {
      const pool = (name: string, port: number) => anObject("InferencePool", "default", name, spec(port));
      await mesh.put(
        anObject("KubernetesGateway", "default", "edge", gateway),
        anObject("HTTPRoute", "default", "r", route),
      );
      await mesh.put(pool("llama", 8000), pool("gemma", 8000), pool("unused", 8000));
      const service = (name: string) => api.get<StoredService>(`${services}/${name}`);
      const stored = (name: string) => api.get<StoredPool>(`${pools}/${name}`);
      const isGood = async (name: string) => {
        const conditions = (await stored(name))?.status?.parents?.[0]?.conditions ?? [];
        return conditions.length === 2 && conditions.every(({ status }) => status === "True");
      };
      await until(() => isGood("llama"), soon("the pool's status"));
      const first = await service(serviceOf.llama);
      assert.equal(first?.spec.clusterIP, "None");
      assert.equal(first.metadata.labels?.["istio.io/inferencepool-extension-service"], "picker");
      assert.equal(first.metadata.ownerReferences?.[0]?.uid, (await stored("llama"))?.metadata.uid);

      await mesh.put(pool("llama", 9000));
      const targetPort = async () => (await service(serviceOf.llama))?.spec.ports[0]?.targetPort;
      await until(async () => (await targetPort()) === 9000, soon("the Service follows the pool"));

      await until(() => isGood("gemma"), soon("the other pool's status"));
      assert.equal((await service(serviceOf.gemma))?.metadata.labels, undefined);
      const all = await api.get<{ readonly items: readonly { readonly metadata: { readonly name: string } }[] }>(
        services,
      );
      assert.deepEqual(
        all?.items
          .map(({ metadata }) => metadata.name)
          .filter((name) => name.includes("-ip-"))
          .sort(),
        Object.values(serviceOf).sort(),
      );
    } finally {
      stop.abort();
      await running;
    }
  });
});
