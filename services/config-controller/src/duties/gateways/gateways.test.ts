/** Objects deployed for Gateways, in an API server that keeps objects in memory. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { KubeError, type KubeObject } from "@flotilla/kube-api";
import { createMemoryApi, type MemoryApi } from "@flotilla/kube-api/memory";
import { defaultMeshConfig } from "@flotilla/model";
import { noopLogger, until } from "@flotilla/runtime";
import { readSettings } from "../../settings.ts";
import { runGateways } from "./run-gateways.ts";

const group = "/apis/gateway.networking.k8s.io/v1";
const gatewayPath = (name: string, namespace = "shop") => `${group}/namespaces/${namespace}/gateways/${name}`;
const servicePath = (name: string) => `/api/v1/namespaces/shop/services/${name}`;
const deploymentPath = (name: string) => `/apis/apps/v1/namespaces/shop/deployments/${name}`;
const configMapPath = (name: string) => `/api/v1/namespaces/shop/configmaps/${name}`;
const listenersPath = (name: string, namespace: string) => `${group}/namespaces/${namespace}/listenersets/${name}`;

const http = { name: "http", port: 80, protocol: "HTTP" };
const gateway = (spec: object = {}, metadata: object = {}) => ({
  ...{ apiVersion: "gateway.networking.k8s.io/v1", kind: "Gateway", metadata },
  spec: { gatewayClassName: "istio", listeners: [http], ...spec },
});
const cluster = {
  "/version": { major: "1", minor: "33+" },
  "/api/v1/namespaces/shop": { metadata: { labels: { team: "shop" } } },
  [gatewayPath("last")]: gateway(),
};

interface Deployed extends KubeObject {
  readonly spec: {
    readonly replicas?: number;
    readonly type?: string;
    readonly ports?: readonly { readonly port: number }[];
  };
}

/** Gateways are deployed in the order in which they are listed: when the last one is deployed, all of them were looked at. */
async function deploying(
  stored: Readonly<Record<string, object>>,
  check: (memory: MemoryApi, until: Eventually) => Promise<void>,
  environment: Readonly<Record<string, string>> = {},
) {
  const memory = createMemoryApi({ ...stored, ...cluster });
  const stop = new AbortController();
  const followed = { mesh: () => defaultMeshConfig, proxyConfigs: () => [] };
  const options = { api: memory.api, settings: readSettings(environment), ...followed, log: noopLogger };
  const running = runGateways(options, stop.signal);
  const eventually: Eventually = async (what, holds) => {
    await until(holds, { withinMs: 20_000, everyMs: 2, what });
  };
  try {
    await eventually("the last Gateway is deployed", () => memory.read(deploymentPath("last-istio")) !== undefined);
    await check(memory, eventually);
  } finally {
    stop.abort();
    await running;
  }
}

type Eventually = (what: string, holds: () => boolean) => Promise<void>;

const portsOf = (memory: MemoryApi, name: string) =>
  memory.read<Deployed>(servicePath(name))?.spec.ports?.map(({ port }) => port);

const skipped = [
  { name: "of another class", gateway: gateway({ gatewayClassName: "another" }) },
  { name: "of another revision", gateway: gateway({}, { labels: { "istio.io/rev": "canary" } }) },
  { name: "that is being deleted", gateway: gateway({}, { deletionTimestamp: "2026-01-01T00:00:00Z" }) },
  {
    name: "whose address names a Service",
    gateway: gateway({ addresses: [{ type: "Hostname", value: "edge.shop.svc" }] }),
  },
  {
    name: "that a newer version deploys",
    gateway: gateway({}, { annotations: { "gateway.istio.io/controller-version": "99" } }),
  },
  {
    name: "whose parameters are no ConfigMap",
    gateway: gateway({ infrastructure: { parametersRef: { group: "", kind: "Secret", name: "options" } } }),
  },
  {
    name: "whose parameters are missing",
    gateway: gateway({ infrastructure: { parametersRef: { group: "", kind: "ConfigMap", name: "missing" } } }),
  },
];

const listenerCases: readonly {
  readonly name: string;
  readonly allowed?: object;
  readonly ports: readonly number[];
}[] = [
  { name: "none without an annotation", ports: [] },
  { name: "none", allowed: { from: "None" }, ports: [] },
  { name: "those of its own namespace", allowed: { from: "Same" }, ports: [8443] },
  { name: "all", allowed: { from: "All" }, ports: [8443, 9443] },
  {
    name: "those of namespaces with a label",
    allowed: { from: "Selector", selector: { matchLabels: { team: "edge" } } },
    ports: [9443],
  },
  { name: "none where the selector is missing", allowed: { from: "Selector" }, ports: [] },
];

const listeners = (port: number, parentRef: object) => ({
  spec: { parentRef, listeners: [{ name: `on-${port}`, port, protocol: "HTTPS" }] },
});

/** The Gateway of a case, and ListenerSets of its own and another namespace. */
const withListeners = (name: string, allowed: object | undefined) => ({
  [gatewayPath(name)]: gateway(allowed && { allowedListeners: { namespaces: allowed } }),
  [listenersPath(`${name}-same`, "shop")]: listeners(8443, { name }),
  [listenersPath(`${name}-other`, "edge")]: listeners(9443, { name, namespace: "shop" }),
  [listenersPath(`${name}-elsewhere`, "edge")]: listeners(7444, { name }),
});

const classDefaults = (replicas: number, creationTimestamp: string) => ({
  metadata: { labels: { "gateway.istio.io/defaults-for-class": "istio" }, creationTimestamp },
  data: { deployment: `spec: {replicas: ${replicas}, minReadySeconds: 7}` },
});
const parameters = (replicas: number) => ({ data: { deployment: `spec: {replicas: ${replicas}}` } });
const infrastructure = { parametersRef: { group: "", kind: "ConfigMap", name: "options" } };
const deploymentOf = (memory: MemoryApi, name: string) =>
  memory.read<{ spec: { replicas: number; minReadySeconds: number } }>(deploymentPath(name))?.spec;

describe("Gateways of a cluster", () => {
  test("that are there at the start", async (t) => {
    const taken = { metadata: { labels: { app: "mine" } }, spec: { ports: [{ port: 8080 }] } };
    const stored = {
      "/api/v1/namespaces/edge": { metadata: { labels: { team: "edge" } } },
      "/api/v1/namespaces/istio-system/configmaps/newer": classDefaults(9, "2026-02-01T00:00:00Z"),
      "/api/v1/namespaces/istio-system/configmaps/older": classDefaults(2, "2026-01-01T00:00:00Z"),
      ...Object.fromEntries(skipped.map(({ gateway: one }, index) => [gatewayPath(`skipped-${index}`), one])),
      ...Object.assign({}, ...listenerCases.map(({ allowed }, index) => withListeners(`listeners-${index}`, allowed))),
      [gatewayPath("first", "elsewhere")]: gateway(),
      [gatewayPath("taken")]: gateway(),
      [servicePath("taken-istio")]: taken,
    };
    const check = async (memory: MemoryApi) => {
      await t.test("get a Deployment, a Service and an account, and the mark of their version", () => {
        assert.deepEqual(portsOf(memory, "last-istio"), [15021, 80]);
        assert.notEqual(memory.read("/api/v1/namespaces/shop/serviceaccounts/last-istio"), undefined);
        const mark = "gateway.istio.io/controller-version";
        const marks = memory.writes.filter(({ path }) => path === gatewayPath("last"));
        const marked = marks[0]?.object as KubeObject | undefined;
        assert.equal(marked?.metadata.annotations?.[mark], "5");
        assert.equal(marks[0]?.fieldManager, "istio.io/gateway-controller");
      });
      await t.test("have their class made", () => {
        const [made] = memory.writes.filter(({ path }) => path === `${group}/gatewayclasses`);
        assert.equal((made?.object as KubeObject | undefined)?.metadata.name, "istio");
      });
      for (const [index, { name }] of skipped.entries())
        await t.test(`get nothing: one ${name}`, () => {
          const objects = memory.writes.filter(({ path }) => path.includes(`skipped-${index}-`));
          assert.deepEqual(objects, []);
        });
      for (const [index, { name, ports }] of listenerCases.entries())
        await t.test(`take listeners of ListenerSets: ${name}`, () => {
          const found = portsOf(memory, `listeners-${index}-istio`)?.toSorted((a, b) => a - b);
          assert.deepEqual(
            found,
            [80, ...ports, 15021].toSorted((a, b) => a - b),
          );
        });
      await t.test("get nothing in namespaces that are not watched", () => {
        assert.ok(!memory.writes.some(({ path }) => path.includes("/elsewhere/")));
      });
      await t.test("leave alone what somebody else made under their name", () => {
        assert.deepEqual(portsOf(memory, "taken-istio"), [8080]);
        assert.notEqual(deploymentOf(memory, "taken-istio"), undefined, "its Deployment is made");
      });
      await t.test("have the oldest defaults of their class", () => {
        const { replicas, minReadySeconds } = deploymentOf(memory, "last-istio") ?? {};
        assert.deepEqual({ replicas, minReadySeconds }, { replicas: 2, minReadySeconds: 7 });
      });
    };
    await deploying(stored, check, { ISTIO_WATCH_NAMESPACE: "shop" });
  });

  test("put their labels and annotations into objects as values, never as YAML or objects of their own", async () => {
    const hostile =
      'a"\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: mine}\n{{ 7 }}';
    const infrastructure = { annotations: { "a.test/b": hostile }, labels: { team: "x: {y: 1}" } };
    await deploying({ [gatewayPath("evil")]: gateway({ infrastructure }) }, async (memory) => {
      const kinds = new Set(memory.writes.map(({ object }) => (object as KubeObject | undefined)?.kind ?? "Gateway"));
      assert.deepEqual([...kinds].sort(), ["Deployment", "Gateway", "GatewayClass", "Service", "ServiceAccount"]);
      const { metadata } = memory.read<Deployed>(deploymentPath("evil-istio")) ?? assert.fail("not deployed");
      assert.equal(metadata.annotations?.["a.test/b"], hostile);
      assert.equal(metadata.labels?.["team"], "x: {y: 1}");
    });
  });

  test("that change later", async (t) => {
    await deploying({}, async (memory, eventually) => {
      await t.test("get a deleted object again", async () => {
        memory.remove(deploymentPath("last-istio"));
        await eventually("the Deployment is back", () => deploymentOf(memory, "last-istio") !== undefined);
      });
      await t.test("get a changed object as it was", async () => {
        const service = memory.read<Deployed>(servicePath("last-istio"));
        memory.put(servicePath("last-istio"), { ...service, spec: { ...service?.spec, type: "ClusterIP" } });
        const type = () => memory.read<Deployed>(servicePath("last-istio"))?.spec.type;
        await eventually("the Service is as it was", () => type() === "LoadBalancer");
      });
      await t.test("take parameters from a ConfigMap of theirs, and follow it", async () => {
        memory.put(configMapPath("options"), parameters(3));
        memory.put(gatewayPath("named"), gateway({ infrastructure }));
        await eventually("parameters count", () => deploymentOf(memory, "named-istio")?.replicas === 3);
        memory.put(configMapPath("options"), parameters(4));
        await eventually("changed parameters count", () => deploymentOf(memory, "named-istio")?.replicas === 4);
      });
      await t.test("cause no write to others", async () => {
        const before = memory.writes.length;
        memory.put(gatewayPath("other"), gateway());
        await eventually("it is deployed", () => portsOf(memory, "other-istio") !== undefined);
        const others = memory.writes.slice(before).filter(({ path }) => !path.includes("/other"));
        assert.deepEqual(others, []);
      });
      await t.test("are deployed when the API server takes their objects again", async () => {
        const isRefused = { is: true };
        const refusal = new KubeError("KUBE_REFUSED", "over quota", { status: 403 });
        memory.refusal = ({ path }) => (isRefused.is && path.includes("more-istio") ? refusal : undefined);
        memory.put(gatewayPath("more"), gateway());
        memory.put(gatewayPath("next"), gateway());
        await eventually("another one is deployed", () => portsOf(memory, "next-istio") !== undefined);
        assert.equal(portsOf(memory, "more-istio"), undefined);
        isRefused.is = false;
        memory.put(gatewayPath("third"), gateway());
        await eventually("it is deployed, too", () => portsOf(memory, "more-istio") !== undefined);
      });
    });
  });
});
