/** Services, namespaces and the objects around a service, as the console asks for them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Change, Endpoint } from "@flotilla/model";
import { Core } from "../app/core.ts";
import { aConfig, anEndpoint, aService, put } from "../testing/mesh.ts";
import { ChangeLedger } from "./change-ledger.ts";
import type { FleetRow } from "./fleet-page.ts";
import { servicePages } from "./service-pages.ts";
import { ServiceTable } from "./service-table.ts";

const full = (name: string, namespace: string) => `${name}.${namespace}.svc.cluster.local`;
const endpoints = (shard: string, name: string, namespace: string, ...value: readonly Endpoint[]): Change => {
  const hostname = full(name, namespace);
  return { type: "endpoints", op: "put", key: { shard, namespace, hostname, name }, value } as Change;
};
const inCluster = (change: Change, shard: string): Change => ({ ...change, key: { ...change.key, shard } }) as Change;
const proxy = (namespace: string) => ({ namespace }) as FleetRow;

const [remote] = put(aService("reviews", "shop", { definedBy: "Service/two" }));
const mesh: readonly Change[] = [
  ...put(aService("reviews", "shop"), aService("ledger", "bank")),
  inCluster(remote as Change, "Kubernetes/two"),
  endpoints(
    "Kubernetes/Kubernetes",
    "reviews",
    "shop",
    anEndpoint("10.0.0.1"),
    anEndpoint("10.0.0.2", { health: "draining" }),
  ),
  endpoints("Kubernetes/two", "reviews", "shop", anEndpoint("10.1.0.1", { health: "unknown" })),
  endpoints("Kubernetes/Kubernetes", "reviews", "other", anEndpoint("10.0.0.9")),
  ...put(
    aConfig("AuthorizationPolicy", "shop", "deny", { action: "DENY" }),
    aConfig("PeerAuthentication", "istio-system", "default", { mtls: { mode: "STRICT" } }),
    aConfig("RequestAuthentication", "audit", "tokens", {}),
    aConfig("VirtualService", "shop", "short", { hosts: ["reviews"] }),
    aConfig("VirtualService", "bank", "destination", {
      hosts: ["ledger"],
      tcp: [{}, { route: [{}, { destination: { host: full("reviews", "shop") } }] }],
    }),
    aConfig("VirtualService", "bank", "short-of-bank", { hosts: ["reviews"] }),
    aConfig("DestinationRule", "shop", "pool", { host: "reviews" }),
    aConfig("DestinationRule", "shop", "pool-of-ledger", { host: full("ledger", "bank") }),
    aConfig("Telemetry", "shop", "logs", {}),
    aConfig("Secret", "shop", "pair", {}),
  ),
];

function pagesOf(inputs: readonly Change[], proxies: readonly FleetRow[] = []) {
  const table = new ServiceTable(() => inputs, new ChangeLedger());
  const pages = servicePages({ core: new Core(), table, inputs: () => inputs, fleetRows: async () => proxies });
  return async <Body>(path: string, namespace?: string): Promise<Body> => {
    const [name, query] = path.split("?");
    const page = pages.find((one) => one.path === name);
    const reply = await page?.answer({ path, query: new URLSearchParams(query), viewer: { namespace } });
    assert.ok(reply !== undefined, path);
    return ("json" in reply ? reply.json : reply) as Body;
  };
}

const ask = pagesOf(mesh, [proxy("shop"), proxy("shop"), proxy("idle")]);

describe("the list of services", () => {
  const rows = async (query: string, viewer?: string) =>
    (await ask<{ readonly rows: readonly { readonly hostname: string }[] }>(`services?${query}`, viewer)).rows;
  const names = async (query: string, viewer?: string) => (await rows(query, viewer)).map(({ hostname }) => hostname);
  const [reviews, ledger] = [full("reviews", "shop"), full("ledger", "bank")];

  it("has a service of two clusters once, with the endpoints of both", async () => {
    assert.deepEqual(await rows("namespace=shop"), [
      {
        ...{ hostname: reviews, namespace: "shop", registry: "Kubernetes" },
        ports: aService("reviews", "shop").ports.map(({ name, number, protocol }) => ({ name, number, protocol })),
        ...{ endpoints: 3, healthy: 2 },
      },
    ]);
  });

  const cases: readonly (readonly [
    name: string,
    query: string,
    viewer: string | undefined,
    want: readonly string[],
  ])[] = [
    ["is sorted by host name", "", undefined, [ledger, reviews]],
    ["is sorted by endpoints", "sort=-endpoints", undefined, [reviews, ledger]],
    ["is searched", "search=bank", undefined, [ledger]],
    ["has the services of given names", `hostname=${reviews},absent`, undefined, [reviews]],
    ["has those of the caller's namespace", "", "bank", [ledger]],
  ];
  for (const [name, query, viewer, want] of cases)
    it(name, async () => assert.deepEqual(await names(query, viewer), want));

  it("refuses what it does not have", async () => {
    assert.deepEqual(await ask("services?sort=age"), { error: "sort is none of hostname, namespace, endpoints" });
  });
});

describe("the list of namespaces", () => {
  const row = (namespace: string, services: number, proxies: number, policies: number) => ({
    ...{ namespace, services, proxies, policies },
  });
  const rows = async (query: string, viewer?: string) =>
    (await ask<{ readonly rows: readonly object[] }>(`namespaces?${query}`, viewer)).rows;

  it("counts services, proxies and policies", async () => {
    assert.deepEqual(await rows(""), [
      row("audit", 0, 0, 1),
      row("bank", 1, 0, 0),
      row("idle", 0, 1, 0),
      row("istio-system", 0, 0, 1),
      row("shop", 1, 2, 1),
    ]);
    assert.deepEqual(await rows("sort=-workloads&limit=1"), [row("shop", 1, 2, 1)]);
    assert.deepEqual(await rows("search=aud"), [row("audit", 0, 0, 1)]);
  });

  it("shows a caller its own namespace", async () => assert.deepEqual(await rows("", "bank"), [row("bank", 1, 0, 0)]));
});

describe("objects around a service", () => {
  interface Around {
    readonly rootNamespace: string;
    readonly objects: readonly {
      readonly kind: string;
      readonly metadata: { readonly namespace: string; readonly name: string };
    }[];
  }
  const around = async (query: string, viewer?: string) => {
    const { rootNamespace, objects } = await ask<Around>(`service_objects?${query}`, viewer);
    assert.equal(rootNamespace, "istio-system");
    return objects.map(({ kind, metadata: { namespace, name } }) => `${kind}/${namespace}/${name}`);
  };
  const reviews = `hostname=${full("reviews", "shop")}&namespace=shop`;

  it("are those that name it, and policies of its namespace and of the root namespace", async () => {
    assert.deepEqual(await around(reviews), [
      "AuthorizationPolicy/shop/deny",
      "DestinationRule/shop/pool",
      "PeerAuthentication/istio-system/default",
      "VirtualService/bank/destination",
      "VirtualService/shop/short",
    ]);
  });

  it("are those of the caller's namespace", async () =>
    assert.deepEqual(await around(reviews, "bank"), ["VirtualService/bank/destination"]));

  it("need the names of the service", async () => {
    const refusal = { status: 400, text: "service_objects needs hostname and namespace\n" };
    for (const query of ["hostname=a", "namespace=shop", ""])
      assert.deepEqual(await ask(`service_objects?${query}`), refusal, query);
  });
});

describe("the table of services", () => {
  const cause = { publisher: "service-controller", epoch: "e", revision: 1, eventTimeMs: 0 };

  it("is built again after changes of its inputs, and after no others", () => {
    let [reads, inputs] = [0, put(aService("a", "shop"))];
    const ledger = new ChangeLedger();
    const read = () => {
      reads += 1;
      return inputs;
    };
    const table = new ServiceTable(read, ledger);
    const apply = (...changes: readonly Change[]) => {
      inputs = [...inputs, ...changes];
      ledger.note(changes, { position: 1, atMs: 0, cause });
    };
    const [rows, policies] = [table.rows(), table.policies()];
    const before = reads;
    apply(...put(aConfig("VirtualService", "shop", "route", {})));
    assert.deepEqual([table.rows() === rows, table.policies() === policies, reads], [true, true, before]);

    apply(...put(aConfig("PeerAuthentication", "shop", "mtls", {})));
    assert.deepEqual([table.rows() === rows, [...table.policies()]], [true, [["shop", 1]]]);

    apply(endpoints("Kubernetes/Kubernetes", "a", "shop", anEndpoint("10.0.0.1")));
    assert.deepEqual(
      table.rows().map((row) => row.endpoints),
      [1],
    );

    apply(...put(aService("b", "shop")));
    assert.equal(table.rows().length, 2);
  });
});
