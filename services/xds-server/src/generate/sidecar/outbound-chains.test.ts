/** The chains of listeners for calls that go out: TCP and TLS services, VirtualServices of both, Sidecars. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { KubeObject } from "@flotilla/model";
import { type JsonObject, typeUrl } from "@flotilla/proto";
import { aKubeMesh, anEntry, anObject, fieldAt, inShort } from "../../testing/kube-mesh.ts";
import { aSidecar, resourceOf } from "../../testing/mesh.ts";

interface Given {
  readonly objects?: readonly KubeObject[];
  readonly metadata?: JsonObject;
  readonly mesh?: JsonObject;
}

const entry = (name: string, address: string, port: JsonObject, more: JsonObject = {}) =>
  anEntry(name, { addresses: [address], ports: [port], ...more });
const tcp = { number: 9000, name: "tcp", protocol: "TCP" };
const tls = { number: 9443, name: "tls", protocol: "TLS" };
const services = [
  entry("a", "10.9.0.1", { number: 80, name: "http", protocol: "HTTP" }),
  entry("b", "10.9.0.2", tcp),
  entry("c", "10.9.0.3", tls),
  entry("d", "10.9.0.4", { number: 7000, name: "any", protocol: "" }),
];

function meshOf({ objects = [], mesh = {} }: Given) {
  return aKubeMesh([...services, ...objects], { mesh });
}

/** `matches: filter → cluster or route` of each chain. */
function chains(given: Given, name: string): readonly string[] {
  const found = resourceOf(meshOf(given), aSidecar("shop", given.metadata), typeUrl.listener, name);
  const ofChain = (chain: JsonObject | undefined): readonly string[] => {
    if (chain === undefined) return [];
    const filters = chain["filters"] as readonly JsonObject[];
    const of = (at: string) => inShort(fieldAt(filters.at(-1), `typedConfig.${at}`));
    const kind = String(filters.at(-1)?.["name"]).replace(/^.*\./, "");
    const to =
      of("cluster") !== "none"
        ? of("cluster")
        : of("weightedClusters") !== "none"
          ? of("weightedClusters")
          : of("rds.routeConfigName") !== "none"
            ? of("rds.routeConfigName")
            : `${of("routeConfig.virtualHosts.0.name")} ${of("routeConfig.virtualHosts.0.routes.0.route.cluster")}`;
    return [`${inShort(chain["filterChainMatch"])} ${kind} → ${to}`];
  };
  const list = (found?.["filterChains"] ?? []) as readonly JsonObject[];
  return [
    ...list.flatMap(ofChain),
    ...ofChain(found?.["defaultFilterChain"] as JsonObject | undefined).map((text) => `else ${text}`),
  ];
}

const virtualService = (spec: JsonObject) => anObject("VirtualService", "shop/v", spec);
const to = (host: string, more: JsonObject = {}) => ({ destination: { host: `${host}.shop.example`, ...more } });
const sidecar = (spec: JsonObject) => anObject("Sidecar", "shop/s", spec);

const chainCases: readonly (readonly [name: string, given: Given, listener: string, is: string])[] = [
  [
    "HTTP",
    {},
    "0.0.0.0_80",
    "{transportProtocol: raw_buffer, applicationProtocols: [http/1.1, h2c]} http_connection_manager → 80; else {} tcp_proxy → PassthroughCluster",
  ],
  ["TCP", {}, "10.9.0.2_9000", "none tcp_proxy → outbound|9000||b.shop.example"],
  ["TLS", {}, "10.9.0.3_9443", "none tcp_proxy → outbound|9443||c.shop.example"],
  [
    "an undeclared protocol",
    {},
    "10.9.0.4_7000",
    "{transportProtocol: raw_buffer, applicationProtocols: [http/1.1, h2c]} http_connection_manager → d.shop.example:7000; else none tcp_proxy → outbound|7000||d.shop.example",
  ],
  [
    "TCP by a VirtualService",
    { objects: [virtualService({ hosts: ["b.shop.example"], tcp: [{ route: [to("d")] }] })] },
    "10.9.0.2_9000",
    "none tcp_proxy → outbound|7000||d.shop.example",
  ],
  [
    "TCP by port, and to another port",
    {
      objects: [
        virtualService({
          hosts: ["b.shop.example"],
          tcp: [{ match: [{ port: 9000 }], route: [to("d", { port: { number: 7000 }, subset: "v1" })] }],
        }),
      ],
    },
    "10.9.0.2_9000",
    "none tcp_proxy → outbound|7000|v1|d.shop.example",
  ],
  [
    "TCP of another port stays",
    { objects: [virtualService({ hosts: ["b.shop.example"], tcp: [{ match: [{ port: 1 }], route: [to("d")] }] })] },
    "10.9.0.2_9000",
    "none tcp_proxy → outbound|9000||b.shop.example",
  ],
  [
    "TCP by weights",
    {
      objects: [
        virtualService({
          hosts: ["b.shop.example"],
          tcp: [
            {
              route: [
                { ...to("b"), weight: 30 },
                { ...to("d"), weight: 70 },
              ],
            },
          ],
        }),
      ],
    },
    "10.9.0.2_9000",
    "none tcp_proxy → {clusters: [{name: outbound|9000||b.shop.example, weight: 30}, {name: outbound|7000||d.shop.example, weight: 70}]}",
  ],
  [
    "TCP to subnets first",
    {
      objects: [
        virtualService({
          hosts: ["b.shop.example"],
          tcp: [{ match: [{ destinationSubnets: ["10.9.0.0/24"] }], route: [to("d")] }, { route: [to("b")] }],
        }),
      ],
    },
    "10.9.0.2_9000",
    "{prefixRanges: [{addressPrefix: 10.9.0.0, prefixLen: 24}]} tcp_proxy → outbound|7000||d.shop.example; else none tcp_proxy → outbound|9000||b.shop.example",
  ],
  [
    "TCP of the caller's labels",
    {
      objects: [
        virtualService({
          hosts: ["b.shop.example"],
          tcp: [{ match: [{ sourceLabels: { app: "web" } }], route: [to("d")] }],
        }),
      ],
    },
    "10.9.0.2_9000",
    "none tcp_proxy → outbound|7000||d.shop.example",
  ],
  [
    "TCP of other callers' labels",
    {
      objects: [
        virtualService({
          hosts: ["b.shop.example"],
          tcp: [{ match: [{ sourceLabels: { app: "other" } }], route: [to("d")] }],
        }),
      ],
    },
    "10.9.0.2_9000",
    "none tcp_proxy → outbound|9000||b.shop.example",
  ],
  [
    "TCP by a gateway alone",
    { objects: [virtualService({ hosts: ["b.shop.example"], gateways: ["gw"], tcp: [{ route: [to("d")] }] })] },
    "10.9.0.2_9000",
    "none tcp_proxy → outbound|9000||b.shop.example",
  ],
  [
    "TCP by the gateway of a match",
    {
      objects: [
        virtualService({
          hosts: ["b.shop.example"],
          gateways: ["gw", "mesh"],
          tcp: [{ match: [{ gateways: ["gw"] }], route: [to("d")] }],
        }),
      ],
    },
    "10.9.0.2_9000",
    "none tcp_proxy → outbound|9000||b.shop.example",
  ],
  [
    "TLS by names",
    {
      objects: [
        virtualService({
          hosts: ["c.shop.example"],
          tls: [{ match: [{ sniHosts: ["x.c.shop.example", "c.shop.example"] }], route: [to("d")] }],
        }),
      ],
    },
    "10.9.0.3_9443",
    "{serverNames: [c.shop.example, x.c.shop.example]} tcp_proxy → outbound|7000||d.shop.example; else {} tcp_proxy → PassthroughCluster",
  ],
  [
    "TLS by a wildcard and port",
    {
      objects: [
        virtualService({
          hosts: ["c.shop.example"],
          tls: [
            {
              match: [{ port: 9443, sniHosts: ["c.shop.example"] }],
              route: [
                { ...to("c"), weight: 50 },
                { ...to("d"), weight: 50 },
              ],
            },
          ],
        }),
      ],
    },
    "10.9.0.3_9443",
    "{serverNames: [c.shop.example]} tcp_proxy → {clusters: [{name: outbound|9443||c.shop.example, weight: 50}, {name: outbound|7000||d.shop.example, weight: 50}]}; else {} tcp_proxy → PassthroughCluster",
  ],
  [
    "TLS of another port",
    {
      objects: [
        virtualService({
          hosts: ["c.shop.example"],
          tls: [{ match: [{ port: 1, sniHosts: ["c.shop.example"] }], route: [to("d")] }],
        }),
      ],
    },
    "10.9.0.3_9443",
    "none tcp_proxy → outbound|9443||c.shop.example",
  ],
  [
    "TCP of a TLS service",
    { objects: [virtualService({ hosts: ["c.shop.example"], tcp: [{ route: [to("d")] }] })] },
    "10.9.0.3_9443",
    "none tcp_proxy → outbound|9443||c.shop.example",
  ],
  [
    "everything else",
    {},
    "virtualOutbound",
    "{destinationPort: 15001} tcp_proxy → BlackHoleCluster; none tcp_proxy → PassthroughCluster",
  ],
  [
    "everything else of a registry alone",
    { mesh: { outboundTrafficPolicy: { mode: "REGISTRY_ONLY" } } },
    "virtualOutbound",
    "{destinationPort: 15001} tcp_proxy → BlackHoleCluster; none tcp_proxy → BlackHoleCluster",
  ],
  [
    "everything else by a Sidecar",
    { objects: [sidecar({ outboundTrafficPolicy: { mode: "REGISTRY_ONLY" }, egress: [{ hosts: ["*/*"] }] })] },
    "virtualOutbound",
    "{destinationPort: 15001} tcp_proxy → BlackHoleCluster; none tcp_proxy → BlackHoleCluster",
  ],
  [
    "a Sidecar's port of TCP",
    {
      objects: [
        sidecar({
          egress: [
            { port: { number: 9000, protocol: "TCP", name: "x" }, bind: "127.0.0.1", hosts: ["./b.shop.example"] },
          ],
        }),
      ],
    },
    "127.0.0.1_9000",
    "none tcp_proxy → outbound|9000||b.shop.example",
  ],
  [
    "two TCP services of a port share no listener",
    { objects: [entry("e", "10.9.0.5", tcp)] },
    "10.9.0.5_9000",
    "none tcp_proxy → outbound|9000||e.shop.example",
  ],
  [
    "of two TLS services with one address the older has it",
    { objects: [entry("e", "10.9.0.3", tls)] },
    "10.9.0.3_9443",
    "none tcp_proxy → outbound|9443||c.shop.example",
  ],
  [
    "a TCP service without an address has every address",
    {
      objects: [entry("e", "10.9.0.5", { ...tcp, number: 9100 }, { addresses: [] })],
      metadata: { DNS_AUTO_ALLOCATE: "" },
    },
    "0.0.0.0_9100",
    "none tcp_proxy → outbound|9100||e.shop.example",
  ],
  [
    "a service of an address range",
    { objects: [entry("e", "10.9.9.0/24", { ...tcp, number: 9200 })] },
    "0.0.0.0_9200",
    "{prefixRanges: [{addressPrefix: 10.9.9.0, prefixLen: 24}]} tcp_proxy → outbound|9200||e.shop.example; else {} tcp_proxy → PassthroughCluster",
  ],
];

describe("chains of a listener", () => {
  for (const [name, given, listener, is] of chainCases)
    it(name, () => assert.equal(chains(given, listener).join("; "), is));
});
