/** The status that is written of Gateways and routes, into an API server that only keeps what it is given. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultClassSettings } from "@flotilla/gateway-api";
import type { KubeApi } from "@flotilla/kube-api";
import type { Change, Config } from "@flotilla/model";
import { noopLogger, until } from "@flotilla/runtime";
import { aLoadBalancer, anObject, publishMesh } from "./gateway-status.fixture.ts";
import { GatewayStatus } from "./gateway-status.ts";
import { StoredObjects } from "./stored-objects.ts";

const root = "/apis/gateway.networking.k8s.io/v1";
const soon = (what: string) => ({ withinMs: 20_000, what, everyMs: 10 });

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly observedGeneration?: number;
  readonly lastTransitionTime?: string;
}

interface Status {
  readonly conditions?: readonly Condition[];
  readonly addresses?: readonly { readonly value: string }[];
  readonly listeners?: readonly { readonly attachedRoutes: number }[];
  readonly parents?: readonly { readonly controllerName: string; readonly conditions?: readonly Condition[] }[];
}

/** Objects by path; `writes` in the order in which they came. */
function fakeApi(paths: readonly string[]) {
  const objects = new Map<string, { metadata: object; status?: Status }>(paths.map((path) => [path, { metadata: {} }]));
  const reads: string[] = [];
  const writes: string[] = [];
  const served = new Set(["gateways", "gatewayclasses", "httproutes"]);
  const api = {
    get: async (path: string) => {
      reads.push(path);
      return path === root ? { resources: [...served].map((name) => ({ name })) } : structuredClone(objects.get(path));
    },
    apply: async (path: string, { status }: { readonly status: Status }) => {
      const object = path.replace(/\/status$/, "");
      writes.push(object);
      objects.set(object, { metadata: {}, status });
    },
  };
  return { api: api as unknown as KubeApi, served, objects, reads, writes };
}

const gatewayPath = `${root}/namespaces/infra/gateways/edge`;
const routePath = (name: string) => `${root}/namespaces/shop/httproutes/${name}`;
const all = { allowedRoutes: { namespaces: { from: "All" } } };
const gateway = anObject("KubernetesGateway", "infra", "edge", {
  gatewayClassName: "istio",
  listeners: [{ name: "http", port: 80, protocol: "HTTP", ...all }],
});
const route = (name: string, backend: string) =>
  anObject("HTTPRoute", "shop", name, {
    parentRefs: [{ name: "edge", namespace: "infra" }],
    rules: [{ backendRefs: [{ name: backend, port: 80 }] }],
  });

test("each object's own status names what is wrong with it, and is written once", async () => {
  const { api, objects, writes } = fakeApi([gatewayPath, routePath("good"), routePath("lost")]);
  const foreign = { controllerName: "example.com/other", conditions: [] };
  objects.set(routePath("lost"), { metadata: {}, status: { parents: [foreign] } });
  await using mesh = await publishMesh("gateway-status");
  await mesh.put(gateway, route("good", "web"), route("lost", "nobody"), ...aLoadBalancer("shop", "web", "192.0.2.1"));
  await mesh.put(...aLoadBalancer("infra", "edge-istio", "192.0.2.7"));
  const stop = new AbortController();
  const classes = defaultClassSettings;
  const options = {
    api,
    domain: "cluster.local",
    classes,
    namespaces: [],
    onWritten: () => undefined,
    log: noopLogger,
  };
  const running = new GatewayStatus({ ...options, ...mesh, nowMs: Date.now }).run(stop.signal);
  try {
    const statusOf = (path: string) => objects.get(path)?.status;
    await until(() => statusOf(gatewayPath)?.listeners?.[0]?.attachedRoutes === 2, soon("both routes are counted"));
    const { addresses, conditions = [] } = statusOf(gatewayPath) ?? {};
    assert.deepEqual(
      addresses?.map(({ value }) => value),
      ["192.0.2.7"],
    );
    assert.deepEqual(
      conditions.map(({ type, status, observedGeneration }) => `${type} ${status} ${observedGeneration}`),
      ["Accepted True 3", "Programmed True 3", "ResolvedRefs True 3"],
    );
    await until(() => statusOf(routePath("good"))?.parents?.length === 1, soon("the route has a status"));
    await until(() => statusOf(routePath("lost"))?.parents?.length === 2, soon("the other's entry stays"));
    const [other, own] = statusOf(routePath("lost"))?.parents ?? [];
    assert.deepEqual(other, foreign);
    const resolved = own?.conditions?.find(({ type }) => type === "ResolvedRefs");
    assert.equal(`${resolved?.status} ${resolved?.reason}`, "False BackendNotFound");

    const since = own?.conditions?.find(({ type }) => type === "Accepted")?.lastTransitionTime;
    writes.length = 0;
    await mesh.put(...aLoadBalancer("shop", "nobody", "192.0.2.2"));
    await until(() => writes.includes(routePath("lost")), soon("the route's status is written again"));
    const now = statusOf(routePath("lost"))?.parents?.[1]?.conditions ?? [];
    assert.deepEqual(
      now.map(({ status }) => status),
      ["True", "True"],
    );
    assert.equal(now[0]?.lastTransitionTime, since);
    assert.deepEqual(writes, [routePath("lost")]);

    // Deleted and made again before anybody looked: another object, of the same name and generation, without a status.
    objects.set(routePath("good"), { metadata: {} });
    await mesh.put(route("good", "nobody"));
    await until(() => statusOf(routePath("good"))?.parents?.length === 1, soon("an object made again has a status"));
  } finally {
    stop.abort();
    await running;
  }
});

test("a status that somebody else takes away is written again", async () => {
  const path = routePath("one");
  const { api, objects, writes } = fakeApi([path]);
  await using mesh = await publishMesh("removed-status");
  await mesh.put(gateway, route("one", "web"), ...aLoadBalancer("shop", "web", "192.0.2.1"));
  const stored = new StoredObjects();
  const stop = new AbortController();
  const options = { api, domain: "cluster.local", classes: defaultClassSettings, namespaces: [], log: noopLogger };
  const running = new GatewayStatus({ ...options, ...mesh, stored, onWritten: () => undefined, nowMs: Date.now }).run(
    stop.signal,
  );
  try {
    const hasStatus = () => objects.get(path)?.status?.parents?.length === 1;
    await until(hasStatus, soon("the route has a status"));
    const key = { kind: "HTTPRoute", namespace: "shop", name: "one" };
    const seen = { metadata: { generation: 3, resourceVersion: "8" } };
    // The watch brings what was written, which is fine; then the object without it.
    stored.note(key, { ...seen, status: objects.get(path)?.status });
    const before = writes.length;
    objects.set(path, { metadata: {} });
    stored.note(key, seen);
    await until(hasStatus, soon("the status is there again"));
    assert.equal(writes.length, before + 1);
  } finally {
    stop.abort();
    await running;
  }
});

test("a Gateway's parameters that cannot be followed are in its status", async () => {
  const { api, objects } = fakeApi([gatewayPath]);
  await using mesh = await publishMesh("parameters");
  const spec = {
    ...(gateway as { readonly value: { readonly spec: object } }).value.spec,
    infrastructure: { parametersRef: { group: "", kind: "ConfigMap", name: "options" } },
  };
  const parameters = (data: object) => {
    const change = anObject("ConfigMap", "infra", "options", {});
    return { ...change, value: { ...(change as { readonly value: Config }).value, spec: { data } } } as Change;
  };
  await mesh.put(anObject("KubernetesGateway", "infra", "edge", spec), parameters({ daemonSet: "{}" }));
  const stop = new AbortController();
  const options = { api, domain: "cluster.local", classes: defaultClassSettings, namespaces: [], log: noopLogger };
  const running = new GatewayStatus({ ...options, ...mesh, onWritten: () => undefined, nowMs: Date.now }).run(
    stop.signal,
  );
  const accepted = () => {
    const found = objects.get(gatewayPath)?.status?.conditions?.find(({ type }) => type === "Accepted");
    return `${found?.status} ${found?.reason}`;
  };
  try {
    await until(() => accepted() === "False InvalidParameters", soon("the key is named"));
    await mesh.put(parameters({ deployment: "spec: {replicas: 2}" }));
    await until(() => accepted() === "True Accepted", soon("good parameters are accepted"));
  } finally {
    stop.abort();
    await running;
  }
});

test("a kind that the API server does not have is looked for again after ten seconds", async () => {
  const path = routePath("two");
  const { api, served, objects, reads } = fakeApi([path]);
  served.delete("httproutes");
  await using mesh = await publishMesh("late-kind");
  await mesh.put(gateway, route("one", "web"), ...aLoadBalancer("shop", "web", "192.0.2.1"));
  let now = 0;
  const stop = new AbortController();
  const options = { api, domain: "cluster.local", classes: defaultClassSettings, namespaces: [], log: noopLogger };
  const running = new GatewayStatus({ ...options, ...mesh, onWritten: () => undefined, nowMs: () => now }).run(
    stop.signal,
  );
  try {
    await until(() => reads.includes(root), soon("the kinds are looked for"));
    served.add("httproutes");
    now = 10_000;
    await mesh.put(route("two", "web"));
    await until(() => objects.get(path)?.status?.parents?.length === 1, soon("a route has a status"));
  } finally {
    stop.abort();
    await running;
  }
});

const cases = [
  { name: "is written without asking for what is known", known: { metadata: { resourceVersion: "7" } }, reads: 0 },
  { name: "is asked for where nothing is known", known: undefined, reads: 1 },
];
for (const { name, known, reads: asked } of cases)
  test(`the status of a route ${name}`, async () => {
    const path = routePath("one");
    const { api, objects, reads } = fakeApi([path]);
    await using mesh = await publishMesh(`stored-${asked}`);
    await mesh.put(gateway, route("one", "web"), ...aLoadBalancer("shop", "web", "192.0.2.1"));
    const stored = new StoredObjects();
    if (known !== undefined) stored.note({ kind: "HTTPRoute", namespace: "shop", name: "one" }, known);
    const stop = new AbortController();
    const options = { api, domain: "cluster.local", classes: defaultClassSettings, namespaces: [], log: noopLogger };
    const running = new GatewayStatus({ ...options, ...mesh, stored, onWritten: () => undefined, nowMs: Date.now }).run(
      stop.signal,
    );
    try {
      await until(() => objects.get(path)?.status?.parents?.length === 1, soon("the route has a status"));
      assert.equal(reads.filter((one) => one === path).length, asked);
    } finally {
      stop.abort();
      await running;
    }
  });
