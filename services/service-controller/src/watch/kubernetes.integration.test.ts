/** Real API servers: one of our own, and another through a Secret whose credentials are rotated. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, describe, it } from "node:test";
import { type KubeApi, type KubeObject, loadKubeConfig } from "@flotilla/kube-api";
import { type RunningApiserver, startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import { ClusterRegistries, defaultRegistrySettings } from "@flotilla/registry";
import { noopLogger, until } from "@flotilla/runtime";
import { kubernetesSource } from "./kubernetes-source.ts";

const own: RunningApiserver | undefined = await startKubeApiserver(process.env);
const remote: RunningApiserver | undefined = own && (await startKubeApiserver(process.env));
after(async () => {
  await own?.[Symbol.asyncDispose]();
  await remote?.[Symbol.asyncDispose]();
});

/** Few: rotation.test.ts has thousands, in every order of answers. */
const rotations = Number(process.env["ROTATIONS"] ?? 5);

const host = "web.shop.svc.cluster.local";
const slices = "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices";
const secrets = "/api/v1/namespaces/istio-system/secrets";

function slice(...addresses: readonly string[]): unknown {
  return {
    metadata: { name: "web-1", namespace: "shop", labels: { "kubernetes.io/service-name": "web" } },
    addressType: "IPv4",
    endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
  };
}

function withAddresses(object: KubeObject, ...addresses: readonly string[]): unknown {
  return { ...(slice(...addresses) as object), metadata: object.metadata };
}

async function fill(api: KubeApi, address: string): Promise<void> {
  for (const name of ["istio-system", "shop"]) await api.create("/api/v1/namespaces", { metadata: { name } });
  const spec = { ports: [{ name: "http", port: 80 }] };
  await api.create("/api/v1/namespaces/shop/services", { metadata: { name: "web", namespace: "shop" }, spec });
  await api.create(slices, slice(address));
}

async function change(api: KubeApi, path: string, update: (object: KubeObject) => unknown): Promise<void> {
  const object = await api.get(path);
  assert.ok(object !== undefined, path);
  await api.replace(path, update(object));
}

async function follow(
  kubeconfig: string,
  {
    endpointsObjects = false,
    watchedNamespaces = [],
  }: { readonly endpointsObjects?: boolean; readonly watchedNamespaces?: readonly string[] } = {},
) {
  const config = await loadKubeConfig({ KUBECONFIG: kubeconfig });
  assert.ok(config !== undefined);
  const registry = new ClusterRegistries(defaultRegistrySettings);
  const source = kubernetesSource({
    config,
    clusterId: "Kubernetes",
    systemNamespace: "istio-system",
    syncTimeoutMs: 30_000,
    endpointsObjects,
    watchedNamespaces,
    log: noopLogger,
    nowMs: Date.now,
    random: Math.random,
    onProblems: () => undefined,
  });
  const stop = new AbortController();
  /** The fewest endpoints of each shard since it had some. */
  const fewest = new Map<string, number>();
  const endpoints = () =>
    registry
      .state()
      .flatMap((one) =>
        one.type === "endpoints" && one.op === "put" && one.key.hostname === host
          ? one.value.map(({ addresses }) => `${one.key.shard.replace("Kubernetes/", "")} ${addresses[0]}`)
          : [],
      );
  const done = (async () => {
    for await (const { inputs } of source.groups(stop.signal)) {
      for (const { type, key, ...one } of registry.apply(inputs).changes) {
        if (type !== "endpoints" || key.hostname !== host) continue;
        const count = one.op === "put" ? (one.value as readonly unknown[]).length : 0;
        fewest.set(key.shard, Math.min(fewest.get(key.shard) ?? count, count));
      }
    }
  })();
  return {
    source,
    fewest,
    select: (discoverySelectors: unknown) => {
      const key = { kind: "MeshConfig", namespace: "", name: "mesh" };
      const value = { key, labels: {}, annotations: {}, creationTimeMs: 0, spec: { discoverySelectors } };
      registry.apply([{ type: "config", op: "put", key, value }]);
    },
    hosts: () => registry.state().flatMap(({ type, key }) => (type === "service" ? [key.hostname] : [])),
    haveAddresses: (hostname: string, expected: readonly string[]) =>
      until(
        () => {
          const there = registry
            .state()
            .flatMap((one) =>
              one.type === "endpoints" && one.op === "put" && one.key.hostname === hostname
                ? one.value.map(({ addresses: [first] }) => first)
                : [],
            );
          return there.join() === expected.join();
        },
        { withinMs: 60_000, what: `${hostname} to have ${expected.join() || "none"}` },
      ),
    are: (...expected: readonly string[]) =>
      until(
        () => {
          const there = endpoints().sort();
          if (there.join() === [...expected].sort().join()) return true;
          throw new Error(`there is: ${there}; ${source.problems().map(({ reason }) => reason)}`);
        },
        { withinMs: 60_000, what: `${expected}` },
      ),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await done;
      await source[Symbol.asyncDispose]();
    },
  };
}

/** A kubeconfig for `server` with a token of an account of its own. */
async function credentials(api: KubeApi, kubeconfig: string, account: string): Promise<string> {
  const at = "/api/v1/namespaces/istio-system/serviceaccounts";
  await api.create(at, { metadata: { name: account, namespace: "istio-system" } });
  await api.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
    metadata: { name: account },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ kind: "ServiceAccount", name: account, namespace: "istio-system" }],
  });
  const spec = { audiences: ["https://kubernetes.default.svc"] };
  const made = await api.create<{ readonly status: { readonly token: string } }>(`${at}/${account}/token`, { spec });
  const document = JSON.parse(await readFile(kubeconfig, "utf8")) as { users: unknown };
  return JSON.stringify({ ...document, users: [{ name: "admin", user: { token: made.status.token } }] });
}

function secret(name: string, data: Readonly<Record<string, string>>): unknown {
  const labels = { "istio/multiCluster": "true" };
  return { metadata: { name, namespace: "istio-system", labels }, data: encoded(data) };
}

function encoded(data: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString("base64")]));
}

describe("real API servers", { skip: own === undefined && whyNoApiserver }, () => {
  it("namespaces come into view and leave it as their labels change; Endpoints objects are read where slices are not", async () => {
    assert.ok(own !== undefined);
    const { api } = own;
    const at = "/api/v1/namespaces/view";
    await api.create("/api/v1/namespaces", { metadata: { name: "view" } });
    const spec = { ports: [{ name: "http", port: 80 }] };
    await api.create(`${at}/services`, { metadata: { name: "old", namespace: "view" }, spec });
    const subsets = (...ips: readonly string[]) => [
      { addresses: ips.map((ip) => ({ ip })), ports: [{ name: "http", port: 8080 }] },
    ];
    await api.create(`${at}/endpoints`, { metadata: { name: "old", namespace: "view" }, subsets: subsets("10.5.0.1") });
    await using followed = await follow(own.kubeconfig, { endpointsObjects: true });
    const selectors = [{ matchLabels: { mesh: "on" } }];
    followed.select(selectors);
    const label = (mesh: string) =>
      change(api, at, (object) => ({ ...object, metadata: { ...object.metadata, labels: { mesh } } }));
    const are = (...addresses: readonly string[]) => followed.haveAddresses("old.view.svc.cluster.local", addresses);
    await are();
    await label("on");
    await are("10.5.0.1");
    await change(api, `${at}/endpoints/old`, (object) => ({ ...object, subsets: subsets("10.5.0.1", "10.5.0.2") }));
    await are("10.5.0.1", "10.5.0.2");
    await label("off");
    await are();
    followed.select([]);
    await are("10.5.0.1", "10.5.0.2");
    await api.delete(`${at}/endpoints/old`);
    await are();
  });

  it("of some namespaces only, where asked to", async () => {
    assert.ok(own !== undefined);
    for (const watchedNamespaces of [["view"], ["view", "other"]]) {
      await using followed = await follow(own.kubeconfig, { watchedNamespaces });
      await until(() => followed.hosts().length > 0, { withinMs: 60_000, what: "a service" });
      assert.deepEqual(followed.hosts(), ["old.view.svc.cluster.local"]);
    }
  });

  it("give their objects as they change; another cluster comes, rotates its credentials without a dip, and goes", async () => {
    assert.ok(own !== undefined && remote !== undefined);
    await fill(own.api, "10.1.0.1");
    await fill(remote.api, "10.2.0.1");
    await using followed = await follow(own.kubeconfig);
    await followed.are("Kubernetes 10.1.0.1");
    await change(own.api, `${slices}/web-1`, (object) => withAddresses(object, "10.1.0.1", "10.1.0.2"));
    await followed.are("Kubernetes 10.1.0.1", "Kubernetes 10.1.0.2");
    await own.api.create(secrets, secret("broken", { a: "{", b: "users: [{name: x}]", Kubernetes: "x" }));
    await until(() => followed.source.problems().length === 3, { withinMs: 60_000, what: "three problems" });
    assert.deepEqual(
      followed.source.problems().map(({ object, field }) => `${object} ${field}`),
      [
        "Secret/istio-system/broken data[Kubernetes]",
        "Secret/istio-system/broken data[a]",
        "Secret/istio-system/broken data[b]",
      ],
    );

    await own.api.create(
      secrets,
      secret("east", { east: await credentials(remote.api, remote.kubeconfig, "reader-0") }),
    );
    await followed.are("Kubernetes 10.1.0.1", "Kubernetes 10.1.0.2", "east 10.2.0.1");
    for (let round = 1; round <= rotations; round++) {
      const kubeconfig = await credentials(remote.api, remote.kubeconfig, `reader-${round}`);
      await change(own.api, `${secrets}/east`, (object) => ({ ...object, data: encoded({ east: kubeconfig }) }));
      // Only the new credentials can see the next change: the old ones are deleted.
      await remote.api.delete(`/api/v1/namespaces/istio-system/serviceaccounts/reader-${round - 1}`);
      await remote.api.delete(`/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/reader-${round - 1}`);
      const more = Array.from({ length: round + 1 }, (_, index) => `10.2.0.${index + 1}`);
      await change(remote.api, `${slices}/web-1`, (object) => withAddresses(object, ...more));
      await followed.are("Kubernetes 10.1.0.1", "Kubernetes 10.1.0.2", ...more.map((address) => `east ${address}`));
    }
    assert.equal(followed.fewest.get("Kubernetes/east"), 1, "the endpoints never went away");
    // The last change may have come by credentials that end in this moment: the cluster counts as away until the next take over.
    const isListed = async () => {
      const fresh = (await followed.source.list?.(AbortSignal.timeout(10_000))) ?? [];
      return fresh.some(({ shard, inputs }) => shard === "Kubernetes/east" && inputs.length > 0);
    };
    await until(isListed, { withinMs: 60_000, what: "a fresh list of the other cluster" });

    const dead = JSON.stringify({
      ...JSON.parse(await readFile(remote.kubeconfig, "utf8")),
      users: [{ name: "admin", user: { token: "none" } }],
    });
    await change(own.api, `${secrets}/east`, (object) => ({ ...object, data: encoded({ east: dead }) }));
    await change(remote.api, `${slices}/web-1`, (object) => withAddresses(object, "10.2.0.9"));
    // Wrong credentials do not take the place of those that work.
    await followed.are("Kubernetes 10.1.0.1", "Kubernetes 10.1.0.2", "east 10.2.0.9");
    const said = () => followed.source.problems().find(({ object }) => object === "Cluster/east")?.reason ?? "";
    await until(() => /new credentials do not work.*Unauthorized/.test(said()), {
      withinMs: 60_000,
      what: "a word on them",
    });

    await own.api.delete(`${secrets}/east`);
    await followed.are("Kubernetes 10.1.0.1", "Kubernetes 10.1.0.2");
    await own.api.delete(`${slices}/web-1`);
    await followed.are();
  });
});
