/** Ingresses of a real API server. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import type { Ingress, Node, Pod, Service } from "@flotilla/kube-api";
import { type RunningApiserver, startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import { noopLogger, until } from "@flotilla/runtime";
import { IngressStatus } from "./ingress-status.ts";

const server: RunningApiserver | undefined = await startKubeApiserver(process.env);
after(() => server?.[Symbol.asyncDispose]());

const networking = "/apis/networking.k8s.io/v1";
const ingresses = `${networking}/namespaces/default/ingresses`;
const services = "/api/v1/namespaces/default/services";

function ingress(name: string, annotations: Readonly<Record<string, string>>): object {
  const backend = { service: { name: "web", port: { number: 80 } } };
  return {
    ...{ apiVersion: "networking.k8s.io/v1", kind: "Ingress", metadata: { name, annotations } },
    spec: { defaultBackend: backend },
  };
}

describe("the status of Ingresses", { skip: server === undefined && whyNoApiserver }, () => {
  it("has the gateway's addresses as they change, of the mesh's Ingresses only", { timeout: 180_000 }, async () => {
    assert.ok(server !== undefined);
    const { api } = server;
    await api.create(ingresses, ingress("ours", { "kubernetes.io/ingress.class": "istio" }));
    await api.create(ingresses, ingress("theirs", { "kubernetes.io/ingress.class": "nginx" }));
    const spec = { type: "LoadBalancer", ports: [{ port: 80 }] };
    const gateway = { apiVersion: "v1", kind: "Service", metadata: { name: "istio-ingressgateway" }, spec };
    await api.create(services, gateway);
    const report = async (all: readonly object[]) => {
      const service = await api.get<Service>(`${services}/istio-ingressgateway`);
      const reported = { ...service, status: { loadBalancer: { ingress: all } } };
      await api.replace(`${services}/istio-ingressgateway/status`, reported);
    };
    const addresses = async (name: string) => {
      const { status } = (await api.get<Ingress>(`${ingresses}/${name}`)) ?? {};
      return status?.loadBalancer?.ingress?.map(({ ip, hostname }) => ip ?? hostname);
    };
    const become = (name: string, wanted: string | undefined) =>
      until(async () => (await addresses(name))?.join() === wanted, { withinMs: 60_000, what: `${name} at ${wanted}` });

    const stop = new AbortController();
    const mesh = () => ({ ingressService: "istio-ingressgateway" });
    const options = { api, namespace: "default", mesh, log: noopLogger, random: Math.random };
    const running = new IngressStatus(options).run(stop.signal);
    await report([{ ip: "192.0.2.7" }]);
    await become("ours", "192.0.2.7");
    await report([{ ip: "192.0.2.8" }, { hostname: "gw.example.com" }]);
    await become("ours", "gw.example.com,192.0.2.8");
    await api.create(ingresses, ingress("later", { "kubernetes.io/ingress.class": "istio" }));
    await become("later", "gw.example.com,192.0.2.8");
    const edited = await api.get<Ingress>(`${ingresses}/ours`);
    await api.replace(`${ingresses}/ours/status`, { ...edited, status: {} });
    await become("ours", "gw.example.com,192.0.2.8");
    assert.equal(await addresses("theirs"), undefined);
    stop.abort();
    await running;
  });

  it("has the addresses of the gateway's nodes where no Service is named", { timeout: 180_000 }, async () => {
    assert.ok(server !== undefined);
    const { api } = server;
    const [home, nodes] = ["/api/v1/namespaces/edges", "/api/v1/nodes"];
    const own = `${networking}/namespaces/edges/ingresses`;
    await api.create("/api/v1/namespaces", { metadata: { name: "edges" } });
    await api.create(`${home}/serviceaccounts`, { metadata: { name: "default" } });
    await api.create(own, ingress("placed", { "kubernetes.io/ingress.class": "istio" }));
    const node = await api.create<Node>(nodes, { metadata: { name: "one" } });
    const spec = { nodeName: "one", containers: [{ name: "proxy", image: "proxy" }] };
    const labels = { istio: "ingressgateway" };
    const pod = await api.create<Pod>(`${home}/pods`, { metadata: { name: "edge", labels }, spec });
    const stop = new AbortController();
    const options = { api, namespace: "edges", mesh: () => ({ ingressService: "" }), log: noopLogger };
    const running = new IngressStatus({ ...options, random: Math.random }).run(stop.signal);
    try {
      const addresses = [{ type: "ExternalIP", address: "192.0.2.9" }];
      await api.replace(`${nodes}/one/status`, { ...node, status: { ...node.status, addresses } });
      await api.replace(`${home}/pods/edge/status`, { ...pod, status: { ...pod.status, phase: "Running" } });
      const published = async () => (await api.get<Ingress>(`${own}/placed`))?.status?.loadBalancer?.ingress?.[0]?.ip;
      await until(async () => (await published()) === "192.0.2.9", { withinMs: 60_000, what: "the node's address" });
    } finally {
      stop.abort();
      await running;
    }
  });
});
