/**
 * Two config-controllers and two cas in one cluster: each duty is done by one of them, what is undone is done again, and when
 * nothing happens nothing is written but Leases.
 */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { main as ca } from "@flotilla/ca";
import { main as configController } from "@flotilla/config-controller";
import type { KubeObject } from "@flotilla/kube-api";
import {
  type AuditedWrite,
  type RunningApiserver,
  startKubeApiserver,
  whyNoApiserver,
} from "@flotilla/kube-api/testing";
import { noopLogger, until } from "@flotilla/runtime";
import { parseAllDocuments } from "yaml";

const server: RunningApiserver | undefined = await startKubeApiserver(process.env);
const directory = await mkdtemp(join(tmpdir(), "kubernetes-duties-"));
after(async () => {
  await server?.[Symbol.asyncDispose]();
  await rm(directory, { recursive: true, force: true });
});

const crds = fileURLToPath(new URL("../../../packages/kinds/crds/istio.yaml", import.meta.url));
const soon = (what: string) => ({ withinMs: 60_000, what, everyMs: 100 });
const silenceMs = 12_000;
const virtualServices = "/apis/networking.istio.io/v1/namespaces/default/virtualservices";

async function prepare({ api }: RunningApiserver): Promise<void> {
  for (const document of parseAllDocuments(await readFile(crds, "utf8"))) {
    const definition = document.toJS() as KubeObject | null;
    if (definition !== null) await api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition);
  }
  await api.create("/api/v1/namespaces", { metadata: { name: "istio-system" } });
  const status = { loadBalancer: { ingress: [{ ip: "192.0.2.1" }] } };
  const services = "/api/v1/namespaces/istio-system/services";
  const spec = { type: "LoadBalancer", ports: [{ port: 80 }] };
  const gateway = await api.create<KubeObject>(services, { metadata: { name: "istio-ingressgateway" }, spec });
  await api.replace(`${services}/istio-ingressgateway/status`, { ...gateway, status });
  await api.create("/apis/networking.k8s.io/v1/namespaces/default/ingresses", {
    metadata: { name: "web", annotations: { "kubernetes.io/ingress.class": "istio" } },
    spec: { defaultBackend: { service: { name: "web", port: { number: 80 } } } },
  });
  const object = {
    ...{ apiVersion: "networking.istio.io/v1", kind: "VirtualService", metadata: { name: "web" } },
    spec: { hosts: ["web"], http: [{ route: [{ destination: { host: "web" } }] }] },
  };
  const create = () =>
    api.create(virtualServices, object).then(
      () => true,
      () => false,
    );
  await until(create, soon("the kind to be served"));
}

describe("duties in a cluster", { skip: server === undefined && whyNoApiserver }, () => {
  it("are each done by one, healed, and write nothing while nothing happens", { timeout: 240_000 }, async () => {
    assert.ok(server !== undefined);
    await prepare(server);
    const { api, kubeconfig } = server;
    const stop = new AbortController();
    const common = {
      ...{ CLUSTER_KUBECONFIG: kubeconfig, BUS_URL: "embedded:kubernetes-duties", LOG_LEVEL: "silent" },
      ...{ HEALTH_PORT: "0", HEALTH_HOST: "127.0.0.1" },
    };
    const inDirectory = (name: string) => ({
      ...{ ...common, CA_PORT: "0", CA_HOST: "127.0.0.1", CA_SELF_SIGNED_KEY: "ecdsa-p256" },
      ...{ WORK_DIR: join(directory, name), ROOT_CA_DIR: join(directory, name, "cacerts") },
    });
    const running = [
      ...[1, 2].map(() => configController(common, stop.signal)),
      ...["a", "b"].map((name) => ca(inDirectory(name), stop.signal, { log: noopLogger })),
    ];
    const failed = Promise.all(running);
    const check = async (): Promise<void> => {
      const roots = (namespace: string) => api.get(`/api/v1/namespaces/${namespace}/configmaps/istio-ca-root-cert`);
      await until(() => roots("default"), soon("the roots"));
      const addresses = async () => {
        const ingress = await api.get("/apis/networking.k8s.io/v1/namespaces/default/ingresses/web");
        return JSON.stringify(ingress).includes("192.0.2.1");
      };
      await until(addresses, soon("the addresses of the Ingress"));
      await api.delete("/api/v1/namespaces/default/configmaps/istio-ca-root-cert");
      await until(() => roots("default"), soon("the roots to be back"));
      await api.create("/api/v1/namespaces", { metadata: { name: "later" } });
      await until(() => roots("later"), soon("the roots in a new namespace"));
      // That no xds-server reports is known after a while only.
      const isReported = async () => JSON.stringify(await api.get(`${virtualServices}/web`)).includes("Reconciled");
      await until(isReported, soon("the status of the VirtualService"));

      const others = async (): Promise<readonly AuditedWrite[]> =>
        (await server.writes()).filter(({ resource }) => resource !== "leases");
      // Leases are renewed meanwhile, so that writes are counted.
      let [count, leases, since] = [0, 0, performance.now()];
      const isSilent = async () => {
        const [all, now] = [(await server.writes()).length, (await others()).length];
        if (now !== count) [count, leases, since] = [now, all - now, performance.now()];
        return all - now > leases && performance.now() - since > silenceMs;
      };
      await until(isSilent, { withinMs: 120_000, what: "a time without writes but Leases", everyMs: 500 });
    };
    try {
      await Promise.race([check(), failed.then(() => Promise.reject(new Error("a service has ended")))]);
      const written = (await server.writes()).filter(({ name }) => name === "istio-ca-root-cert");
      const made = written.filter(({ verb, namespace }) => verb === "create" && namespace === "later");
      assert.equal(made.length, 1, "one of the two makes it");
    } finally {
      stop.abort();
      await failed;
    }
    const { items = [] } =
      (await api.get<{ readonly items: readonly { readonly spec: { readonly holderIdentity?: string } }[] }>(
        "/apis/coordination.k8s.io/v1/namespaces/istio-system/leases",
      )) ?? {};
    assert.ok(items.length >= 2);
    assert.deepEqual(
      items.filter(({ spec }) => (spec.holderIdentity ?? "") !== ""),
      [],
      "all are released at the end",
    );
  });
});
