/** Debug pages over HTTP and over xDS, on a server with a small mesh and a connected proxy. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Authenticator } from "@flotilla/auth";
import type { Change, Config, Endpoint, Service } from "@flotilla/model";
import { aggregatedDiscoveryService as ads, create, decode, typeUrl } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import {
  DiscoveryRequestSchema,
  DiscoveryResponseSchema,
} from "@flotilla/proto/envoy/service/discovery/v3/discovery_pb";
import { ClientConfigSchema, ConfigStatus } from "@flotilla/proto/envoy/service/status/v3/csds_pb";
import { createMetrics, type HttpReply, noopLogger, serveHealth, until } from "@flotilla/runtime";
import { openStore } from "@flotilla/state";
import { XdsClient } from "@flotilla/xds/client";
import { grpcTransport } from "@flotilla/xds/grpc";
import { Client, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import { Core } from "../app/core.ts";
import { createCoreSource } from "../app/core-source.ts";
import { Arrivals } from "../serve/arrivals.ts";
import { ConnectedStreams } from "../serve/connected-streams.ts";
import { certificatePem, keyPem } from "../serve/testing/test-certificate.ts";
import { startTestServer, type TestServer } from "../serve/testing/test-server.ts";
import { applyOptionsOf } from "../testing/apply-options.ts";
import { aConfig, aService, put } from "../testing/mesh.ts";
import { createDebug, type Debug } from "./debug.ts";
import { answerPage, serveDebugPages } from "./pages.ts";

const routes = typeUrl.route;
const host = "reviews.shop.svc.cluster.local";
const secretName = "kubernetes://pair";
const theKey = "THE PRIVATE KEY";

/** A token is the namespace of its bearer. */
const authenticator: Authenticator = {
  name: "test",
  authenticate: async ({ metadata }) => {
    const namespace = metadata.get("authorization")?.[0]?.replace("Bearer ", "");
    if (namespace === undefined) return { authenticated: false, reason: "no token" };
    return { authenticated: true, authenticator: "test", identities: [`spiffe://td/ns/${namespace}/sa/default`] };
  },
};

const core = new Core();
await using store = openStore({ url: "embedded:debug-test", log: noopLogger });
const inputs = new Map<string, Change>();
const settings = { debugAuth: true, debugNamespaces: [], unsafePages: false };
let position = 0;
const metrics = createMetrics();
const source = createCoreSource(core);
const connected = new ConnectedStreams();
const ingest = {
  get position() {
    return position;
  },
  changes: () => inputs.values(),
};
const debug: Debug = createDebug({
  ...{ core, source, store, authenticator, settings, metrics, replica: "pod-1", version: "1.2.3", ingest, connected },
  reportId: "report-1",
  arrivals: new Arrivals(),
});
source.listen(debug.changes);
const server: TestServer = await startTestServer({
  options: {
    source,
    connected,
    debug: debug.answers,
    observer: debug.observer,
    server: JSON.stringify({ ID: "replica-1" }),
  },
  authentication: { authenticator, mode: "offered" },
});
const secure = await server.ads.serveTls(
  {
    ...{ host: "127.0.0.1", port: 0, setting: "TEST_TLS_PORT" },
    material: { keyPem, chainPem: certificatePem, rootsPem: certificatePem },
  },
  { authenticator, mode: "required" },
);
const tls = credentials.createSsl(Buffer.from(certificatePem), null, null, { checkServerIdentity: () => undefined });
const stop = new AbortController();
const soon = (what: string) => ({ withinMs: 30_000, what, everyMs: 2 });

function apply(...values: readonly (Service | Config)[]): void {
  const changes = put(...values);
  for (const change of changes) inputs.set(JSON.stringify(change.key), change);
  const refusals = source.apply(changes, applyOptionsOf(changes, ++position));
  assert.deepEqual(refusals, []);
}

const split = (weight: number) =>
  aConfig("VirtualService", "shop", "reviews", {
    hosts: [host],
    http: [
      {
        route: [
          { destination: { host, subset: "v1" }, weight },
          { destination: { host, subset: "v2" }, weight: 100 - weight },
        ],
      },
    ],
  });

async function page(path: string, namespace?: string): Promise<HttpReply | { readonly refused: string }> {
  const [name = "", query = ""] = path.split("?");
  const found = debug.pages.find((one) => one.path === name);
  assert.ok(found, `no page ${name}`);
  return answerPage(found, new URLSearchParams(query), { namespace });
}

async function json<Body>(path: string, namespace?: string): Promise<Body> {
  const reply = await page(path, namespace);
  assert.ok("json" in reply, JSON.stringify(reply));
  return reply.json as Body;
}

/** One question over xDS, as istioctl asks. */
function ask(type: string, names: readonly string[], token?: string) {
  const client = new Client(server.address, credentials.createInsecure());
  const metadata = new Metadata();
  if (token !== undefined) metadata.set("authorization", `Bearer ${token}`);
  const { path, requestSerialize } = ads.streamAggregatedResources;
  const read = (bytes: Buffer) => decode(DiscoveryResponseSchema, bytes);
  const call = client.makeBidiStreamRequest(path, requestSerialize, read, metadata);
  const node = create(NodeSchema, { id: `sidecar~10.0.0.9~asker.${token ?? "x"}~x.svc.cluster.local` });
  call.write(create(DiscoveryRequestSchema, { node, typeUrl: type, resourceNames: [...names] }));
  return new Promise<ReturnType<typeof read>>((resolve, reject) => {
    call.on("data", resolve);
    call.on("error", (error: ServiceError) => error.details !== "Cancelled on client" && reject(error));
  }).finally(() => {
    call.cancel();
    client.close();
  });
}

describe("debug pages", () => {
  before(async () => {
    apply(
      aService("reviews", "shop"),
      aService("ledger", "bank"),
      split(80),
      aConfig("AuthorizationPolicy", "bank", "deny", {}),
      aConfig("Secret", "shop", "pair", { data: { "tls.crt": btoa("THE CHAIN"), "tls.key": btoa(theKey) } }),
      aConfig("DestinationRule", "shop", "elsewhere", {
        host: "elsewhere",
        workloadSelector: { matchLabels: { app: "web" } },
        trafficPolicy: { tls: { mode: "MUTUAL", credentialName: "pair" } },
      }),
    );
    const client = new XdsClient({
      form: "delta",
      node: create(NodeSchema, {
        id: "sidecar~10.0.0.1~web.shop~shop.svc.cluster.local",
        metadata: { NAMESPACE: "shop", CLUSTER_ID: "Kubernetes", ISTIO_VERSION: "1.27.0", LABELS: { app: "web" } },
      }),
      transport: grpcTransport({ address: `localhost:${secure.port}`, tls, token: "shop" }),
      backoffMs: () => 1,
      onUpdate: () => undefined,
    });
    for (const type of [typeUrl.cluster, typeUrl.listener]) client.subscribe(type);
    client.subscribe(routes, ["80"]);
    client.subscribe(typeUrl.secret, [secretName]);
    void client.run(stop.signal);
    await until(() => server.connected.list()[0]?.types().get(routes)?.acknowledged !== undefined, soon("routes"));
  });
  after(async () => {
    stop.abort();
    await secure[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  it("syncz reports nonces by type, in the fields that tools read", async () => {
    const [proxy = {}, ...more] = await json<readonly Record<string, string | object>[]>("syncz");
    assert.equal(more.length, 0);
    assert.equal(proxy["proxy"], "web.shop");
    assert.equal(proxy["cluster_id"], "Kubernetes");
    assert.equal(proxy["route_sent"], proxy["route_acked"]);
    assert.ok(Object.keys(proxy["resources"] ?? {}).includes(routes));
  });

  it("config_dump has what the proxy gets, and only the routes it asks for", async () => {
    const { configs } = await json<{ configs: readonly Record<string, readonly Record<string, { name: string }>[]>[] }>(
      "config_dump?proxyID=web.shop",
    );
    const part = (name: string) => configs.find((one) => String(one["@type"]).endsWith(`.${name}`));
    assert.ok((part("ClustersConfigDump")?.["dynamicActiveClusters"]?.length ?? 0) > 2);
    assert.deepEqual(
      part("RoutesConfigDump")?.["dynamicRouteConfigs"]?.map((one) => one["routeConfig"]?.name),
      ["80"],
    );
    const only = await json<{ configs: readonly unknown[] }>("config_dump?proxyID=web.shop&types=cds");
    assert.equal(only.configs.length, 1);
  });

  it("a proxy that is not here is answered so, and one without a name is asked for it", async () => {
    const [absent, unnamed] = [await page("config_dump?proxyID=no.where"), await page("config_dump")];
    assert.ok("status" in absent && absent.status === 404);
    assert.ok("status" in unnamed && unnamed.status === 400);
  });

  it("no page shows a key", async () => {
    await until(
      () => server.connected.list()[0]?.types().get(typeUrl.secret)?.acknowledged !== undefined,
      soon("the secret"),
    );
    const dump = JSON.stringify(await json("config_dump?proxyID=web.shop"));
    assert.match(dump, /SecretsConfigDump.*kubernetes:\/\/pair/);
    assert.ok(dump.includes(btoa("THE CHAIN")));
    const paths = debug.pages.map(({ path }) => `${path}?proxyID=web.shop&type=sds&name=${secretName}`);
    for (const path of paths) {
      const shown = JSON.stringify(await page(path));
      for (const secret of [theKey, btoa(theKey)]) assert.ok(!shown.includes(secret), path);
    }
  });

  it("configz has no Secrets", async () => {
    const kinds = (await json<readonly { kind: string }[]>("configz")).map(({ kind }) => kind);
    assert.deepEqual(kinds, ["AuthorizationPolicy", "DestinationRule", "VirtualService"]);
  });

  it("callers of a namespace see what is theirs", async () => {
    assert.deepEqual(await json("configz", "shop").then((list) => (list as unknown[]).length), 2);
    assert.deepEqual(
      (await json<readonly { hostname: string }[]>("registryz", "bank")).map(({ hostname }) => hostname),
      ["ledger.bank.svc.cluster.local"],
    );
    assert.deepEqual(await json("syncz", "bank"), []);
    assert.deepEqual(await json("instancesz", "bank"), {});
    const hidden = await page("config_dump?proxyID=web.shop", "bank");
    assert.ok("status" in hidden && hidden.status === 404);
    assert.equal(((await page("mesh", "shop")) as { refused: string }).refused, "denied");
  });

  it("instances are the services before a proxy's workload, and services and endpoints say where they come from", async () => {
    const key = { shard: "Kubernetes/Kubernetes", namespace: "shop", hostname: host };
    const endpoint: Endpoint = {
      addresses: ["10.0.0.1"],
      servicePortName: "http",
      port: 8080,
      labels: { app: "web" },
      serviceAccount: "",
      network: "",
      locality: "",
      clusterId: "Kubernetes",
      weight: 0,
      tlsMode: "disabled",
      namespace: "shop",
      workloadName: "web",
      health: "healthy",
      definedBy: "Pod/shop/web",
    };
    const change: Change = { type: "endpoints", op: "put", key, value: [endpoint] };
    inputs.set(JSON.stringify(key), change);
    source.apply([change], applyOptionsOf([change], ++position));
    type Target = { readonly Service: { readonly hostname: string }; readonly Port: object };
    const { "web.shop": targets = [] } = await json<Readonly<Record<string, readonly Target[]>>>("instancesz");
    assert.deepEqual(
      targets.map(({ Service: { hostname }, Port }) => ({ hostname, Port })),
      [{ hostname: host, Port: { name: "http", port: 80, protocol: "HTTP", TargetPort: 8080 } }],
    );
    type Registered = { readonly hostname: string; readonly Origin: readonly { readonly Shard: string }[] };
    const services = await json<readonly Registered[]>("registryz", "shop");
    assert.deepEqual(
      services.map(({ Origin }) => Origin[0]?.Shard),
      ["Kubernetes/Kubernetes"],
    );
    assert.match(JSON.stringify(await json("endpointShardz", "shop")), /"DefinedBy":"Pod\/shop\/web"/);
  });

  it("explain names the object that changed a resource, and what became different", async () => {
    apply(split(70));
    await until(
      () => server.connected.list()[0]?.types().get(routes)?.acknowledged?.position === position,
      soon("the new routes"),
    );
    const reported = await json<{
      since: { position: number };
      change: { causedBy: readonly string[]; differences: readonly { path: string; before: number; after: number }[] };
      madeFrom: readonly { object: string }[];
      delivery: { acknowledged: { position: number } };
    }>("explain?proxyID=web.shop&type=rds&name=80");
    assert.equal(reported.since.position, position);
    assert.deepEqual(reported.change.causedBy, ["VirtualService/shop/reviews"]);
    assert.deepEqual(
      reported.change.differences.map(({ before, after }) => [before, after]),
      [
        [80, 70],
        [20, 30],
      ],
    );
    assert.ok(reported.madeFrom.some(({ object }) => object === "Service/shop/reviews"));
    assert.equal(reported.delivery.acknowledged.position, position);
  });

  it("names the source of a change: of a resource, of what was pushed, and of what was applied last", async () => {
    const reported = await json<{ madeFrom: readonly { object: string; by?: string }[] }>(
      "explain?proxyID=web.shop&type=rds&name=80",
    );
    const rule = reported.madeFrom.find(({ object }) => object === "VirtualService/shop/reviews");
    assert.match(rule?.by ?? "", /^test epoch\/\d+$/);
    const [proxy] = await json<readonly { resources: Record<string, { cause?: string }> }[]>("syncz");
    assert.match(proxy?.resources[routes]?.cause ?? "", /by test epoch\/\d+$/);
    const { latest } = await json<{ latest: { causes: readonly { publisher: string }[] } }>("position");
    assert.equal(latest.causes[0]?.publisher, "test");
  });

  it("explain finds the cause among later changes, and what was removed", async () => {
    const reported = () =>
      json<{ since: { position: number }; change: { causedBy: readonly string[] } }>(
        "explain?proxyID=web.shop&type=rds&name=80",
      );
    const caught = (what: string) =>
      until(() => server.connected.list()[0]?.types().get(routes)?.acknowledged?.position === position, soon(what));
    apply(split(60));
    apply(aConfig("AuthorizationPolicy", "bank", "another", {}));
    await caught("routes after two changes");
    assert.deepEqual((await reported()).change.causedBy, ["VirtualService/shop/reviews"]);
    const { key } = split(60);
    inputs.delete(JSON.stringify(key));
    const removal: readonly Change[] = [{ type: "config", op: "delete", key }];
    source.apply(removal, applyOptionsOf(removal, ++position));
    await caught("routes without the rule");
    assert.deepEqual((await reported()).change.causedBy, ["VirtualService/shop/reviews (removed)"]);
    apply(split(60));
    await caught("routes with the rule again");
  });

  it("no page and no answer over xDS shows a caller what is of another namespace", async () => {
    const names = ["web.shop", host, "VirtualService/shop/reviews", "10.0.0.1"];
    const own: Readonly<Record<string, string>> = { fleet: "", made_from: "object=VirtualService/shop/reviews" };
    const showing: string[] = [];
    for (const { path, scope } of debug.pages) {
      if (scope === "mesh") continue;
      const shown = async (namespace?: string): Promise<readonly string[]> => {
        const reply = await page(`${path}?${own[path] ?? "proxyID=web.shop&type=rds&name=80"}`, namespace);
        // An answer that there is no such proxy repeats the name that was asked for.
        if ("refused" in reply || (reply.status ?? 200) !== 200) return [];
        const text = "json" in reply ? JSON.stringify(reply.json) : reply.text;
        return names.filter((name) => text.includes(name));
      };
      assert.deepEqual(await shown("bank"), [], path);
      if ((await shown("shop")).length > 0) showing.push(path);
    }
    for (const path of [
      "syncz",
      "adsz",
      "connections",
      "config_dump",
      "explain",
      "fleet",
      "made_from",
      "endpointShardz",
    ])
      assert.ok(showing.includes(path), `${path} shows nothing to its own namespace: ${showing}`);
    for (const [type, asked] of [
      ["istio.io/debug/syncz", []],
      ["istio.io/debug/config_dump", ["web.shop"]],
      ["istio.io/debug", ["connections"]],
    ] as const) {
      const ofBank = await ask(type, asked, "bank");
      assert.ok(!ofBank.resources.some(({ value }) => Buffer.from(value).includes("web.shop")), type);
      const ofShop = await ask(type, asked, "shop");
      assert.ok(ofShop.resources.length > 0, type);
    }
  });

  it("over xDS: syncz is in Envoy's messages, and says which replica answers", async () => {
    const { resources, controlPlane } = await ask("istio.io/debug/syncz", [], "istio-system");
    assert.equal(JSON.parse(controlPlane?.identifier ?? "{}").ID, "replica-1");
    const configs = resources.map(({ value }) => decode(ClientConfigSchema, value));
    assert.deepEqual(
      configs.map(({ node }) => node?.id),
      ["web.shop"],
    );
    assert.ok(configs[0]?.genericXdsConfigs.every(({ configStatus }) => configStatus === ConfigStatus.SYNCED));
    assert.deepEqual((await ask("istio.io/debug/syncz", [], "bank")).resources, []);
  });

  it("over xDS: config_dump is packed, pages are bytes", async () => {
    const dump = await ask("istio.io/debug/config_dump", ["web.shop"], "shop");
    assert.ok(dump.resources.some(({ typeUrl: url }) => url.endsWith("ClustersConfigDump")));
    for (const names of [[], ["web.shop", "web.shop"], ["no.where"]])
      assert.deepEqual((await ask("istio.io/debug/config_dump", names, "shop")).resources, [], `${names}`);
    const { resources } = await ask("istio.io/debug", ["list"], "shop");
    assert.ok(JSON.parse(Buffer.from(resources[0]?.value ?? []).toString()).includes("syncz"));
  });

  for (const [name, type, names, token, code] of [
    ["no proven identity", "istio.io/debug/syncz", [], undefined, 16],
    ["a page for operators only", "istio.io/debug", ["mesh"], "shop", 7],
    ["no page of that name", "istio.io/debug", ["nonsense"], "istio-system", 3],
    ["two pages at once", "istio.io/debug", ["list", "mesh"], "istio-system", 3],
  ] as const) {
    it(`over xDS: ${name} ends the stream with code ${code}`, async () => {
      await assert.rejects(ask(type, names, token), { code });
    });
  }

  it("gauges count the mesh and what is wrong with it", async () => {
    const duplicate = { ...split(50), key: { kind: "VirtualService", namespace: "shop", name: "zz-reviews" } };
    const subsets = ["v1", "v2", "v1"].map((name) => ({ name, labels: { version: name } }));
    apply({ ...duplicate, creationTimeMs: 1_000 }, aConfig("DestinationRule", "shop", "reviews", { host, subsets }));
    await until(() => core.findings().some(({ metric }) => metric === "pilot_vservice_dup_domain"), soon("a finding"));
    const text = await metrics.text();
    assert.match(text, /^pilot_services 2$/m);
    assert.match(text, /^pilot_virt_services 2$/m);
    assert.match(text, /^pilot_vservice_dup_domain 1$/m);
    assert.match(text, /^pilot_duplicate_envoy_clusters 1$/m);
    assert.match(text, /^pilot_info\{version="1.2.3"\} 1$/m);
    const status = await json<Record<string, Record<string, { message: string }>>>("push_status");
    assert.match(
      status["pilot_vservice_dup_domain"]?.["VirtualService/shop/zz-reviews"]?.message ?? "",
      /has routes already/,
    );
  });

  it("a proxy that connected again and had everything is synced", async () => {
    const [before] = server.connected.list();
    assert.ok(before !== undefined && server.connected.disconnect(before.id));
    await until(() => {
      const [now] = server.connected.list();
      return now !== undefined && now.id !== before.id && now.types().get(routes)?.isDue === false;
    }, soon("the proxy to be back"));
    const [proxy = {}] = await json<readonly Record<string, string | object>[]>("syncz");
    assert.equal(server.connected.list()[0]?.types().get(routes)?.sent, undefined, "nothing was sent");
    assert.ok(proxy["route_sent"] !== undefined && proxy["route_sent"] === proxy["route_acked"]);
    const { resources } = await ask("istio.io/debug/syncz", [], "istio-system");
    const [config] = resources.map(({ value }) => decode(ClientConfigSchema, value));
    assert.ok(config?.genericXdsConfigs.every(({ configStatus }) => configStatus === ConfigStatus.SYNCED));
  });

  it("over HTTP: this host needs no proof, and the pages that take effect are not there", async () => {
    await using health = await serveHealth({
      ...{ service: "xds-server", version: "1", host: "127.0.0.1", port: 0, setting: "X" },
      ...{ log: noopLogger, metrics: createMetrics() },
    });
    serveDebugPages(health, debug.pages, debug.rules);
    assert.equal((await fetch(`${health.url}/debug/mesh`)).status, 200);
    assert.equal((await fetch(`${health.url}/debug/force_disconnect?proxyID=web.shop`)).status, 404);
  });
});
