import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import type { Config, Service } from "@flotilla/model";
import { type JsonObject, typeUrl } from "@flotilla/proto";
import { aConfig, aMesh, aPort, aRouter, aService, namesOf, resourceOf } from "../../testing/mesh.ts";

const service = aService("db", "shop", { ports: [aPort("tcp", 5432, "TCP"), aPort("mongo", 27017, "Mongo")] });

function server(number: number, protocol: string, hosts: readonly string[], more: JsonObject = {}): JsonObject {
  return { port: { number, name: `p${number}`, protocol }, hosts: [...hosts], ...more };
}

function gateway(...servers: readonly JsonObject[]): Config {
  return aConfig("Gateway", "istio-system", "g", { servers: [...servers] });
}

const tls = (mode: string): JsonObject => ({ tls: { mode, credentialName: mode === "SIMPLE" ? "cert" : "" } });

function routes(spec: JsonObject, name = "routes"): Config {
  return aConfig("VirtualService", "shop", name, { gateways: ["istio-system/g"], ...spec });
}

const toDb = (port: number, weight = 0) => ({ destination: { host: "db", port: { number: port } }, weight });

interface Chain {
  readonly filterChainMatch?: { readonly serverNames?: readonly string[] };
  readonly transportSocket?: { readonly name: string };
  readonly filters: readonly {
    readonly typedConfig: {
      readonly rds?: { readonly routeConfigName: string };
      readonly cluster?: string;
      readonly weightedClusters?: { readonly clusters: readonly { readonly name: string; readonly weight: number }[] };
    };
  }[];
}

/** Each filter chain as `server names [tls]: route configuration or clusters`. */
function chainsOf(name: string, objects: readonly (Config | Service)[]): readonly string[] | undefined {
  const found = resourceOf(aMesh(service, ...objects), aRouter("istio-system"), typeUrl.listener, name);
  const chains = found?.["filterChains"] as readonly Chain[] | undefined;
  return chains?.map(({ filterChainMatch, transportSocket, filters }) => {
    const { rds, cluster, weightedClusters } = filters.at(-1)?.typedConfig ?? {};
    const shares = weightedClusters?.clusters.map(({ name: of, weight }) => `${of}=${weight}`).join(" ");
    const names = filterChainMatch?.serverNames?.join(" ") ?? "any";
    return `${names}${transportSocket ? " tls" : ""}: ${rds?.routeConfigName ?? cluster ?? shares}`;
  });
}

const db = "outbound|5432||db.shop.svc.cluster.local";
const mongo = "outbound|27017||db.shop.svc.cluster.local";

const cases: readonly {
  readonly name: string;
  readonly of: string;
  readonly objects: readonly Config[];
  readonly want: readonly string[] | undefined;
}[] = [
  {
    name: "one for all plain HTTP servers of a port",
    of: "0.0.0.0_80",
    objects: [gateway(server(80, "HTTP", ["a.example"]), server(80, "HTTP2", ["b.example"]))],
    want: ["any: http.80"],
  },
  {
    name: "one for each HTTPS server, by the names of its hosts",
    of: "0.0.0.0_443",
    objects: [
      gateway(
        server(443, "HTTPS", ["shop/b.example", "a.example"], tls("SIMPLE")),
        server(443, "HTTPS", ["*"], tls("SIMPLE")),
      ),
    ],
    want: ["a.example b.example tls: https.443.p443.g.istio-system", "any tls: https.443.p443.g.istio-system"],
  },
  {
    name: "one for the first TCP route of the port",
    of: "0.0.0.0_5000",
    objects: [
      gateway(server(5000, "TCP", ["*"])),
      routes({
        hosts: ["*"],
        tcp: [
          { match: [{ port: 6000 }], route: [toDb(27017)] },
          { match: [{ port: 5000, gateways: ["istio-system/other"] }], route: [toDb(27017)] },
          { match: [{ port: 5000 }], route: [toDb(5432)] },
        ],
      }),
    ],
    want: [`any: ${db}`],
  },
  {
    name: "one for TLS that ends here and carries TCP",
    of: "0.0.0.0_5000",
    objects: [
      gateway(server(5000, "TLS", ["db.example"], tls("SIMPLE"))),
      routes({ hosts: ["db.example"], tcp: [{ route: [toDb(5432)] }] }),
    ],
    want: [`db.example tls: ${db}`],
  },
  {
    name: "one for TLS that ends here and a TLSRoute of the Gateway API, but for no other TLS route",
    of: "0.0.0.0_5000",
    objects: [
      gateway(server(5000, "TLS", ["db.example", "other.example"], tls("SIMPLE"))),
      routes({ hosts: ["other.example"], tls: [{ match: [{ sniHosts: ["other.example"] }], route: [toDb(27017)] }] }),
      {
        ...routes(
          { hosts: ["db.example"], tls: [{ match: [{ sniHosts: ["db.example"] }], route: [toDb(5432)] }] },
          "t",
        ),
        annotations: { "internal.istio.io/route-semantics": "gateway" },
      },
    ],
    want: [`db.example other.example tls: ${db}`],
  },
  {
    name: "one for each match of a TLS route, without a name twice",
    of: "0.0.0.0_5000",
    objects: [
      gateway(server(5000, "TLS", ["*.example"], tls("PASSTHROUGH"))),
      routes({
        hosts: ["a.example", "b.example"],
        tls: [
          { match: [{ sniHosts: ["a.example"] }], route: [toDb(5432)] },
          { match: [{ sniHosts: ["a.example"] }, { sniHosts: ["b.example"] }], route: [toDb(5432, 1), toDb(27017, 3)] },
        ],
      }),
    ],
    want: [`a.example: ${db}`, `b.example: ${db}=1 ${mongo}=3`],
  },
  {
    name: "the first that has a server name, and a later one for its other names",
    of: "0.0.0.0_443",
    objects: [
      gateway(
        server(443, "HTTPS", ["a.example"], tls("SIMPLE")),
        server(443, "TLS", ["*.example"], tls("PASSTHROUGH")),
      ),
      routes({
        hosts: ["a.example", "b.example"],
        tls: [
          { match: [{ sniHosts: ["a.example", "b.example"] }], route: [toDb(5432)] },
          { match: [{ sniHosts: ["c.example"] }], route: [toDb(27017)] },
        ],
      }),
    ],
    want: ["a.example tls: https.443.p443.g.istio-system", `b.example: ${db}`, `c.example: ${mongo}`],
  },
  {
    name: "one for each port of a service of the mesh that other networks ask for",
    of: "0.0.0.0_15443",
    objects: [gateway(server(15443, "TLS", ["*.local"], tls("AUTO_PASSTHROUGH")))],
    want: [5432, 27017].map((port) => {
      const name = `outbound_.${port}_._.db.shop.svc.cluster.local`;
      return `${name}: ${name}`;
    }),
  },
  {
    name: "none, and there is no listener, where no TCP route leads anywhere",
    of: "0.0.0.0_5000",
    objects: [gateway(server(5000, "TCP", ["*"]))],
    want: undefined,
  },
];

describe("filter chains of a router:", () => {
  for (const { name, of, objects, want } of cases) it(name, () => assert.deepEqual(chainsOf(of, objects), want));
});

test("a router without a Gateway has no listeners, an unprivileged one none below 1024", () => {
  const servers = [server(80, "HTTP", ["*"]), server(8080, "HTTP", ["*"], { bind: "127.0.0.1" })];
  assert.deepEqual(namesOf(aMesh(service), aRouter("istio-system"), typeUrl.listener), []);
  const core = aMesh(gateway(...servers));
  const all = ["0.0.0.0_80", "127.0.0.1_8080"];
  assert.deepEqual(namesOf(core, aRouter("istio-system"), typeUrl.listener), all);
  const unprivileged = aRouter("istio-system", { UNPRIVILEGED_POD: "true" });
  assert.deepEqual(namesOf(core, unprivileged, typeUrl.listener), all.slice(1));
});

test("the topology before a router decides about PROXY protocol, trusted hops and client certificates", () => {
  const core = aMesh(gateway(server(443, "HTTPS", ["a.example"], tls("SIMPLE"))));
  const topology = { numTrustedProxies: 2, forwardClientCertDetails: "FORWARD_ONLY", proxyProtocol: {} };
  const proxy = aRouter("istio-system", { PROXY_CONFIG: { gatewayTopology: topology } });
  const text = JSON.stringify(resourceOf(core, proxy, typeUrl.listener, "0.0.0.0_443"));
  assert.match(text, /"listenerFilters":\[\{"name":"envoy.filters.listener.proxy_protocol".*tls_inspector/);
  assert.match(text, /"xffNumTrustedHops":2/);
  assert.match(text, /"forwardClientCertDetails":"FORWARD_ONLY"/);
});
