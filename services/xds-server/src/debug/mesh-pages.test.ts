/** The pages about the mesh as it came in, each by the question of a caller and the JSON of its answer. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Change, Endpoint } from "@flotilla/model";
import { Core } from "../app/core.ts";
import { aConfig, anEndpoint, aService, put } from "../testing/mesh.ts";
import { meshPages } from "./mesh-pages.ts";

const endpoints = (shard: string, name: string, namespace: string, ...value: readonly Endpoint[]): Change => {
  const hostname = `${name}.${namespace}.svc.cluster.local`;
  return { type: "endpoints", op: "put", key: { shard, namespace, hostname, name }, value } as Change;
};

/** As another cluster has the service. */
const inCluster = (change: Change, shard: string): Change => ({ ...change, key: { ...change.key, shard } }) as Change;

const [reviews] = put(aService("reviews", "shop", { clusterVips: { one: ["10.0.0.1"] } }));
const [remote] = put(aService("reviews", "shop", { clusterVips: { two: ["10.1.0.1"] }, definedBy: "Service/two" }));
const inputs: readonly Change[] = [
  ...put(
    aConfig("VirtualService", "shop", "b", { hosts: ["b"] }),
    aConfig("VirtualService", "bank", "a@60", { hosts: ["a"] }),
    aConfig("Telemetry", "bank", "logs", {}),
    aConfig("AuthorizationPolicy", "shop", "deny", { action: "DENY" }),
    aConfig("Secret", "shop", "pair", {}),
  ),
  { type: "config", op: "delete", key: { kind: "Gateway", namespace: "shop", name: "gone" } },
  reviews as Change,
  inCluster(remote as Change, "Kubernetes/two"),
  ...put(aService("ledger", "bank")),
  endpoints("Kubernetes/two", "reviews", "shop", anEndpoint("10.1.0.9", { serviceAccount: "spiffe://td/b" })),
  endpoints("Kubernetes/Kubernetes", "reviews", "shop", anEndpoint("10.0.0.9", { serviceAccount: "spiffe://td/a" })),
  endpoints("Kubernetes/Kubernetes", "ledger", "bank", anEndpoint("10.0.0.8")),
];
const pages = meshPages({ core: new Core(), inputs: () => inputs });

async function ask<Body>(path: string, namespace?: string): Promise<Body> {
  const [name, query] = path.split("?");
  const page = pages.find((one) => one.path === name);
  const reply = await page?.answer({ path, query: new URLSearchParams(query), viewer: { namespace } });
  assert.ok(reply !== undefined && "json" in reply, path);
  return reply.json as Body;
}

interface Shown {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace: string; readonly creationTimestamp?: string };
}

describe("configz", () => {
  const cases: readonly (readonly [name: string, path: string, viewer: string | undefined, want: readonly string[]])[] =
    [
      [
        "shows all kinds but Secrets, sorted, without deleted objects",
        "configz",
        undefined,
        ["AuthorizationPolicy shop/deny", "Telemetry bank/logs", "VirtualService bank/a", "VirtualService shop/b"],
      ],
      ["of one kind", "configz?kind=VirtualService", undefined, ["VirtualService bank/a", "VirtualService shop/b"]],
      ["of the caller's namespace", "configz", "bank", ["Telemetry bank/logs", "VirtualService bank/a"]],
      ["Secrets are not shown by their name either", "configz?kind=Secret", undefined, []],
    ];
  for (const [name, path, viewer, want] of cases)
    it(name, async () => {
      const found = await ask<readonly Shown[]>(path, viewer);
      assert.deepEqual(
        found.map(({ kind, metadata }) => `${kind} ${metadata.namespace}/${metadata.name}`),
        want,
      );
    });

  it("gives the time of an object where it is known", async () => {
    const [older, unknown] = await ask<readonly Shown[]>("configz?kind=VirtualService");
    assert.equal(older?.metadata.creationTimestamp, "1970-01-01T00:01:00.000Z");
    assert.ok(unknown !== undefined && !("creationTimestamp" in unknown.metadata));
  });

  it("resourcesz names each kind once, with its group and stored version", async () => {
    const kinds = await ask<readonly { group: string; version: string; kind: string }[]>("resourcesz");
    assert.deepEqual(
      kinds.map(({ group, version, kind }) => `${group}/${version} ${kind}`),
      [
        "security.istio.io/v1 AuthorizationPolicy",
        "telemetry.istio.io/v1alpha1 Telemetry",
        "networking.istio.io/v1 VirtualService",
      ],
    );
  });
});

describe("the registry", () => {
  it("shows a service of two clusters once, with the addresses and origins of both", async () => {
    const services =
      await ask<
        readonly { hostname: string; clusterVIPs: { Addresses: object }; Origin: readonly { Shard: string }[] }[]
      >("registryz");
    assert.deepEqual(
      services.map(({ hostname }) => hostname),
      ["ledger.bank.svc.cluster.local", "reviews.shop.svc.cluster.local"],
    );
    assert.deepEqual(services[1]?.clusterVIPs.Addresses, { one: ["10.0.0.1"], two: ["10.1.0.1"] });
    assert.deepEqual(services[1]?.Origin, [
      { Shard: "Kubernetes/Kubernetes", DefinedBy: "Service/shop/reviews" },
      { Shard: "Kubernetes/two", DefinedBy: "Service/two" },
    ]);
  });

  it("shows endpoints by host, namespace and shard, with the accounts behind them", async () => {
    const found = await ask<
      Record<string, Record<string, { Shards: Record<string, unknown[]>; ServiceAccounts: object }>>
    >("endpointz", "shop");
    assert.deepEqual(Object.keys(found), ["reviews.shop.svc.cluster.local"]);
    const { Shards, ServiceAccounts } = found["reviews.shop.svc.cluster.local"]?.["shop"] ?? {};
    assert.deepEqual(Object.keys(Shards ?? {}), ["Kubernetes/Kubernetes", "Kubernetes/two"]);
    assert.deepEqual(ServiceAccounts, { "spiffe://td/a": {}, "spiffe://td/b": {} });
    assert.deepEqual(await ask("endpointShardz", "shop"), found);
  });

  it("names the clusters that services and endpoints come from", async () => {
    assert.deepEqual(
      (await ask<readonly { id: string }[]>("clusterz")).map(({ id }) => id),
      ["Kubernetes", "two"],
    );
  });
});

describe("policies by namespace", () => {
  const cases = [
    [
      "authorizationz",
      { authorization_policies: { namespace_to_policies: { shop: ["deny"] }, root_namespace: "istio-system" } },
    ],
    ["telemetryz", { telemetries: { namespace_to_telemetries: { bank: ["logs"] }, root_namespace: "istio-system" } }],
  ] as const;
  for (const [path, want] of cases)
    it(path, async () => {
      // Of each policy its name only.
      const shown = JSON.stringify(await ask(path), (_key, value: unknown) =>
        Array.isArray(value) ? value.map(({ name }: { name: string }) => name) : value,
      );
      assert.deepEqual(JSON.parse(shown), want);
    });

  it("a caller sees those of its namespace only", async () => {
    const { telemetries } = await ask<{ telemetries: { namespace_to_telemetries: object } }>("telemetryz", "shop");
    assert.deepEqual(telemetries.namespace_to_telemetries, {});
  });
});
