/** The way of a request from what xds-server shows of proxies: which pages are asked, whose objects are named, and where it is not followed. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { RequestPath } from "@flotilla/console/contract";
import { ByQuery, NoAnswer, requestOf, servicesWith } from "../../upstream/answers.fixture.ts";
import { requestPathHandlers } from "./request-path.ts";

const cluster = "outbound|80||api.shop.svc.cluster.local";
const connectionManager = (config: object) => ({
  name: "envoy.filters.network.http_connection_manager",
  typedConfig: {
    "@type": "t/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
    ...config,
  },
});
const outboundListener = {
  name: "0.0.0.0_80",
  address: { socketAddress: { address: "0.0.0.0", portValue: 80 } },
  filterChains: [{ filters: [connectionManager({ rds: { routeConfigName: "80" } })] }],
};
const rbac = {
  name: "envoy.filters.http.rbac",
  typedConfig: {
    "@type": "t/envoy.extensions.filters.http.rbac.v3.RBAC",
    rules: {
      action: "DENY",
      policies: {
        "ns[shop]-policy[no-admin]-rule[0]": {
          permissions: [{ urlPath: { path: { prefix: "/admin" } } }],
          principals: [{ authenticated: { principalName: { exact: "spiffe://cluster.local/ns/shop/sa/web" } } }],
        },
      },
    },
  },
};
const tls = (names: object) => ({
  typedConfig: {
    requireClientCertificate: true,
    commonTlsContext: {
      tlsCertificateSdsSecretConfigs: [{ name: "default" }],
      combinedValidationContext: { defaultValidationContext: { matchSubjectAltNames: [names] } },
    },
  },
});
const inboundListener = {
  name: "virtualInbound",
  listenerFilters: [{ name: "envoy.filters.listener.tls_inspector" }],
  filterChains: [
    {
      name: "0.0.0.0_8080",
      filterChainMatch: { destinationPort: 8080, transportProtocol: "tls" },
      transportSocket: tls({ prefix: "spiffe://cluster.local/" }),
      filters: [
        connectionManager({
          httpFilters: [rbac],
          routeConfig: {
            name: "inbound|8080||",
            virtualHosts: [
              {
                name: "inbound|http|80",
                domains: ["*"],
                routes: [{ name: "default", match: { prefix: "/" }, route: { cluster: "inbound|8080||" } }],
              },
            ],
          },
        }),
      ],
    },
  ],
};
const resources: Readonly<Record<string, unknown>> = {
  "rds 80": {
    name: "80",
    virtualHosts: [
      {
        name: "api.shop:80",
        domains: ["api"],
        routes: [
          {
            name: "all",
            match: { prefix: "/" },
            route: { cluster },
            metadata: {
              filterMetadata: { istio: { config: "/apis/networking.istio.io/v1/namespaces/shop/virtual-service/api" } },
            },
          },
        ],
      },
    ],
  },
  [`cds ${cluster}`]: {
    name: cluster,
    type: "EDS",
    transportSocket: tls({ exact: "spiffe://cluster.local/ns/shop/sa/api" }),
  },
  "cds inbound|8080||": { name: "inbound|8080||", type: "ORIGINAL_DST" },
  [`eds ${cluster}`]: {
    clusterName: cluster,
    endpoints: [
      { lbEndpoints: [{ endpoint: { address: { socketAddress: { address: "10.0.0.2", portValue: 8080 } } } }] },
    ],
  },
};

const nodes: Readonly<Record<string, object>> = {
  "web.shop": { type: "sidecar", metadata: { INSTANCE_IPS: "10.0.0.1", SERVICE_ACCOUNT: "web" } },
  "api.shop": { type: "sidecar", metadata: { INSTANCE_IPS: "10.0.0.2,fd00::2", SERVICE_ACCOUNT: "api" } },
};
const nodeOf = (query: URLSearchParams) => {
  const proxy = query.get("proxyID") ?? "";
  return nodes[proxy] && { proxy, namespace: "shop", ...nodes[proxy] };
};

const pages: Readonly<Record<string, unknown>> = {
  "xds-server /debug/proxy": new ByQuery(nodeOf),
  "xds-server /debug/config_dump": {
    configs: [
      { dynamicListeners: [outboundListener, inboundListener].map((listener) => ({ activeState: { listener } })) },
    ],
  },
  "xds-server /debug/ndsz": { configs: [{ table: { "api.shop.svc.cluster.local": { ips: ["10.1.0.2"] } } }] },
  "xds-server /debug/fleet": { rows: [{ proxy: "web.shop" }, { proxy: "api.shop" }] },
  "xds-server /debug/explain": new ByQuery((query) => ({
    madeFrom: [
      { object: "Service/shop/api" },
      { object: "PeerAuthentication/shop/default" },
      { object: "settings of the mesh" },
      ...(query.get("type") === "cds" ? [{ object: "DestinationRule/shop/api" }] : []),
    ],
  })),
  "xds-server /debug/resource": new ByQuery((query) => {
    const content = resources[`${query.get("type")} ${query.get("name")}`];
    return content && { content };
  }),
};

async function ask(query: string, changed: Readonly<Record<string, unknown>> = {}) {
  const { services, asked } = servicesWith({ ...pages, ...changed });
  const handler = requestPathHandlers(services)["GET /api/v1/topology/path"];
  return { answer: (await handler(requestOf(query))) as RequestPath, asked };
}

describe("the way of a request", () => {
  it("asks for the resources that it meets by name, each once, with the caller's token", async () => {
    const { answer, asked } = await ask("from=web.shop&host=api");
    assert.equal(answer.address, "10.1.0.2");
    assert.ok(asked.every((one) => one.endsWith(" by T")));
    const fetched = asked
      .filter((one) => one.includes("/debug/resource"))
      .map((one) => one.replace(/.*name=(.*) by T/, "$1"));
    assert.deepEqual(fetched.map(decodeURIComponent), ["80", cluster, cluster, "inbound|8080||"]);
  });

  it("names the objects that decide at each hop, at the sender and at the receiver", async () => {
    const { answer } = await ask("from=web.shop&host=api&path=/x");
    const { hops, destinations } = answer.way;
    const objectsAt = (all: typeof hops, kind: string) => all.find((hop) => hop.kind === kind)?.objects;
    assert.deepEqual(objectsAt(hops, "route"), ["VirtualService/shop/api"]);
    const [destination] = destinations;
    const all = ["DestinationRule/shop/api", "PeerAuthentication/shop/default", "Service/shop/api"];
    assert.deepEqual(objectsAt(destination?.hops ?? [], "cluster"), all);
    const receiver = destination?.receiver;
    assert.deepEqual([receiver?.proxy, receiver?.end.kind], ["api.shop", "forwarded"]);
    assert.deepEqual(objectsAt(receiver?.hops ?? [], "filter chain"), ["PeerAuthentication/shop/default"]);
  });

  it("has the receiver judge the identity of the sender", async () => {
    const { answer } = await ask("from=web.shop&host=api&path=/admin");
    const receiver = answer.way.destinations[0]?.receiver;
    assert.deepEqual([receiver?.end.kind, receiver?.end.status], ["refused", 403]);
    assert.match(receiver?.end.reason ?? "", /AuthorizationPolicy\/shop\/no-admin/);
  });

  it("leaves by the own host where connections are not redirected", async () => {
    const direct = new ByQuery((query) => ({
      ...nodeOf(query),
      metadata: { INSTANCE_IPS: "10.0.0.1", INTERCEPTION_MODE: "NONE" },
    }));
    const bound = {
      ...outboundListener,
      name: "127.0.0.1_80",
      address: { socketAddress: { address: "127.0.0.1", portValue: 80 } },
    };
    const { answer } = await ask("from=web.shop&host=api", {
      "xds-server /debug/proxy": direct,
      "xds-server /debug/config_dump": { configs: [{ dynamicListeners: [{ activeState: { listener: bound } }] }] },
    });
    assert.deepEqual([answer.address, answer.way.hops[0]?.name], ["127.0.0.1", "127.0.0.1_80"]);
    assert.equal((await ask("from=web.shop&host=api&address=10.1.0.2")).answer.address, "10.1.0.2");
  });

  it("ends after four proxies where they send a request to each other", async () => {
    const address = { socketAddress: { address: "10.0.0.2", portValue: 80 } };
    const looping: Readonly<Record<string, unknown>> = {
      ...resources,
      [`cds ${cluster}`]: { name: cluster, type: "EDS" },
      [`eds ${cluster}`]: { clusterName: cluster, endpoints: [{ lbEndpoints: [{ endpoint: { address } }] }] },
    };
    const { answer, asked } = await ask("from=web.shop&host=api", {
      "xds-server /debug/proxy": new ByQuery((query) => ({ ...nodeOf(query), type: "router" })),
      "xds-server /debug/resource": new ByQuery((query) => ({
        content: looping[`${query.get("type")} ${query.get("name")}`],
      })),
    });
    const proxies: string[] = [];
    let unseen: string | undefined;
    for (let way: RequestPath["way"] | undefined = answer.way; way !== undefined; way = way.destinations[0]?.receiver) {
      proxies.push(way.proxy);
      unseen = way.destinations[0]?.unseen;
    }
    assert.deepEqual(proxies, ["web.shop", "api.shop", "api.shop", "api.shop"]);
    assert.equal(unseen, "Ways through more than 4 proxies are not followed.");
    assert.equal(asked.filter((one) => one.includes("/debug/config_dump")).length, 4);
  });

  const notFollowed: readonly { readonly name: string; readonly changed: object; readonly unseen: RegExp }[] = [
    {
      name: "no proxy has the address",
      changed: { "xds-server /debug/fleet": { rows: [{ proxy: "web.shop" }] } },
      unseen: /^No proxy with the address of 10\.0\.0\.2:8080 is connected, or none that you may see\.$/,
    },
    {
      name: "the fleet is away",
      changed: { "xds-server /debug/fleet": new NoAnswer("refused") },
      unseen: /^No proxy with the address/,
    },
    {
      name: "the proxy is a waypoint",
      changed: {
        "xds-server /debug/proxy": new ByQuery((query) => ({
          ...nodeOf(query),
          ...(query.get("proxyID") === "api.shop" && { type: "waypoint" }),
        })),
      },
      unseen: /^It goes on to api\.shop, a waypoint, which is not evaluated\.$/,
    },
  ];
  for (const { name, changed, unseen } of notFollowed)
    it(`is not followed where ${name}`, async () => {
      const { answer } = await ask("from=web.shop&host=api", changed as Readonly<Record<string, unknown>>);
      const [destination] = answer.way.destinations;
      assert.equal(destination?.receiver, undefined);
      assert.match(destination?.unseen ?? "", unseen);
    });

  const refused: readonly {
    readonly name: string;
    readonly query: string;
    readonly changed?: object;
    readonly error: object;
  }[] = [
    { name: "a proxy that is not connected", query: "from=no.shop&host=api", error: { code: "not-found" } },
    {
      name: "a ztunnel",
      query: "from=web.shop&host=api",
      changed: { "xds-server /debug/proxy": { proxy: "z", namespace: "n", type: "ztunnel", metadata: {} } },
      error: { code: "bad-request", message: "ways from a ztunnel are not evaluated" },
    },
    {
      name: "an xds-server that is away",
      query: "from=web.shop&host=api",
      changed: { "xds-server /debug/resource": new NoAnswer("refused") },
      error: { code: "away" },
    },
  ];
  for (const { name, query, changed = {}, error } of refused)
    it(`is refused for ${name}`, () => assert.rejects(ask(query, changed as Readonly<Record<string, unknown>>), error));
});
