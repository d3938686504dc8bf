/** Servers of several Gateways on one workload: which share a listener, which conflict, and the names of their routes. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fromJson, type JsonObject } from "@flotilla/proto";
import { ServerSchema } from "@flotilla/proto/networking/v1alpha3/gateway_pb";
import {
  type GatewayServer,
  gatewayName,
  isHttpServer,
  isTlsServer,
  mergeGateways,
  passesTlsThrough,
  plainHost,
  routeConfigurationName,
} from "./gateway-merge.ts";

interface Options {
  readonly hosts?: readonly string[];
  readonly tls?: JsonObject;
  readonly bind?: string;
  readonly number?: number;
}

function aServer(gateway: string, protocol: string, { hosts = ["*"], tls, bind = "", number = 443 }: Options = {}) {
  const json = { port: { number, name: "p", protocol }, hosts: [...hosts], bind, ...(tls && { tls }) };
  const server = fromJson(ServerSchema, json);
  const name = gatewayName.write({ namespace: "shop", name: gateway });
  const transport = protocol === "UDP" ? "udp" : "tcp";
  return { gateway: name, hosts, server, transport } satisfies GatewayServer;
}

const simple = { mode: "SIMPLE", credentialName: "c" };
const passthrough = { mode: "PASSTHROUGH" };

function merged(servers: readonly GatewayServer[], { ports = [8443], takesDatagrams = false } = {}) {
  const reports: string[] = [];
  const found = mergeGateways(
    servers.map((server) => ({ server, ports, takesDatagrams })),
    ({ gateway }, message) => reports.push(`${gateway}: ${message}`),
  );
  const listeners = [...found.listeners].map(
    ([key, { servers: on }]) => `${key} ${on.map(({ gateway }) => gatewayName.read(gateway).name).join("+")}`,
  );
  return { ...found, names: listeners, reports };
}

const cases: readonly {
  readonly name: string;
  readonly servers: readonly GatewayServer[];
  readonly listeners: readonly string[];
  readonly reports?: readonly string[];
}[] = [
  {
    name: "plain HTTP servers share a listener, whatever their hosts",
    servers: [aServer("a", "HTTP"), aServer("b", "HTTP2"), aServer("c", "GRPC")],
    listeners: ["8443| a+b+c"],
  },
  {
    name: "TLS servers of different hosts share a listener",
    servers: [
      aServer("a", "HTTPS", { tls: simple, hosts: ["a"] }),
      aServer("b", "TLS", { tls: passthrough, hosts: ["b"] }),
    ],
    listeners: ["8443| a+b"],
  },
  {
    name: "the second of two TLS servers with one host is left out",
    servers: [
      aServer("a", "HTTPS", { tls: simple, hosts: ["a", "x"] }),
      aServer("b", "HTTPS", { tls: simple, hosts: ["x", "b"] }),
    ],
    listeners: ["8443| a"],
    reports: ["shop/b: 8443 has x already"],
  },
  {
    name: "of HTTPS servers it is one host, whatever namespace it is limited to",
    servers: [
      aServer("a", "HTTPS", { tls: simple, hosts: ["shop/*.x"] }),
      aServer("b", "HTTPS", { tls: simple, hosts: ["y", "*.x"] }),
      aServer("c", "HTTPS", { tls: simple, hosts: ["other/*.x"], bind: "10.0.0.1" }),
    ],
    listeners: ["8443| a", "8443|10.0.0.1 c"],
    reports: ["shop/b: 8443 has *.x already"],
  },
  {
    name: "of servers that pass TLS through it is not: their routes name what they take",
    servers: [
      aServer("a", "TLS", { tls: passthrough, hosts: ["shop/*.x"] }),
      aServer("b", "TLS", { tls: passthrough, hosts: ["other/*.x"] }),
    ],
    listeners: ["8443| a+b"],
  },
  {
    name: "plain TCP stands alone",
    servers: [aServer("a", "TCP"), aServer("b", "TCP")],
    listeners: ["8443| a"],
    reports: ["shop/b: 8443 is taken by a server of Gateway shop/a"],
  },
  {
    name: "TLS and plain HTTP do not share a port",
    servers: [aServer("a", "HTTP"), aServer("b", "HTTPS", { tls: simple })],
    listeners: ["8443| a"],
    reports: ["shop/b: 8443 is taken by a server of Gateway shop/a"],
  },
  {
    name: "a plain server follows TLS servers, and TLS servers do not follow it",
    servers: [
      aServer("a", "HTTPS", { tls: simple, hosts: ["a"] }),
      aServer("b", "TCP"),
      aServer("c", "HTTPS", { tls: simple, hosts: ["c"] }),
    ],
    listeners: ["8443| a+b"],
    reports: ["shop/c: 8443 is taken by a server of Gateway shop/b"],
  },
  {
    name: "TLS servers stand by their protocol",
    servers: [
      aServer("a", "HTTPS", { tls: simple, hosts: ["a"] }),
      aServer("b", "TLS", { tls: passthrough, hosts: ["b"] }),
      aServer("c", "HTTPS", { tls: simple, hosts: ["c"] }),
    ],
    listeners: ["8443| a+c+b"],
  },
  {
    name: "a host may stand twice in a server, and be taken by another after the first of its servers is left out",
    servers: [
      aServer("a", "HTTPS", { tls: simple, hosts: ["a", "a"] }),
      aServer("b", "HTTPS", { tls: simple, hosts: ["a", "b"] }),
      aServer("c", "HTTPS", { tls: simple, hosts: ["b"] }),
    ],
    listeners: ["8443| a+c"],
    reports: ["shop/b: 8443 has a already"],
  },
  {
    name: "on another address they do",
    servers: [
      aServer("a", "HTTP"),
      aServer("b", "TCP", { bind: "10.0.0.1" }),
      aServer("c", "TCP", { bind: "10.0.0.1" }),
    ],
    listeners: ["8443| a", "8443|10.0.0.1 b"],
    reports: ["shop/c: 10.0.0.1:8443 is taken by a server of Gateway shop/b"],
  },
];

describe("servers of several Gateways", () => {
  for (const { name, servers, listeners, reports = [] } of cases)
    it(name, () => {
      const found = merged(servers);
      assert.deepEqual([found.names, found.reports], [listeners, reports]);
    });

  it("listen on each port of the workload that stands for theirs", () => {
    assert.deepEqual(merged([aServer("a", "HTTP")], { ports: [80, 8080] }).names, ["80| a", "8080| a"]);
  });

  it("that route requests have a route configuration, shared on a plain port", () => {
    const servers = [aServer("a", "HTTP"), aServer("b", "HTTP"), aServer("c", "TCP", { bind: "10.0.0.1" })];
    const { routes } = merged(servers);
    assert.deepEqual(
      [...routes].map(([name, of]) => `${name} ${of.length}`),
      ["http.8443 2"],
    );
  });

  it("that terminate TLS are reached by HTTP/3 where datagrams reach the workload", () => {
    const [ends, passes] = [
      aServer("a", "HTTPS", { tls: simple, hosts: ["a"] }),
      aServer("b", "HTTPS", { tls: passthrough, hosts: ["b"] }),
    ];
    const without = merged([ends, passes]);
    assert.deepEqual([[...without.http3Routes], without.listeners.get("8443|")?.http3Servers], [[], []]);
    const { http3Routes, listeners } = merged([ends, passes, aServer("c", "HTTP", { bind: "x" })], {
      takesDatagrams: true,
    });
    assert.deepEqual([...http3Routes], ["https.443.p.a.shop"]);
    assert.deepEqual(listeners.get("8443|")?.http3Servers, [ends]);
  });
});

describe("a server", () => {
  const kinds: readonly (readonly [string, JsonObject | undefined, tls: boolean, http: boolean, route: string])[] = [
    ["HTTP", undefined, false, true, "http.8443"],
    ["HTTP", { httpsRedirect: true }, false, true, "http.8443"],
    ["HTTPS", simple, true, true, "https.443.p.a.shop"],
    ["HTTPS", passthrough, true, false, ""],
    ["HTTPS", { mode: "AUTO_PASSTHROUGH" }, true, false, ""],
    ["TLS", simple, true, false, ""],
    ["TCP", undefined, false, false, ""],
  ];
  for (const [protocol, tls, isTls, isHttp, route] of kinds)
    it(`of ${protocol} with ${tls === undefined ? "no TLS" : JSON.stringify(tls)}`, () => {
      const one = aServer("a", protocol, tls === undefined ? {} : { tls });
      assert.deepEqual([isTlsServer(one.server), isHttpServer(one.server)], [isTls, isHttp]);
      assert.equal(routeConfigurationName(one, 8443), route);
    });

  it("on an address has it in the name of its routes", () => {
    assert.equal(routeConfigurationName(aServer("a", "HTTP", { bind: "10.0.0.1" }), 80), "http.80.10.0.0.1");
    const https = aServer("a", "HTTPS", { bind: "10.0.0.1", tls: simple });
    assert.equal(routeConfigurationName(https, 8443), "https.443.p.a.shop.10.0.0.1");
  });
  it("without TLS settings passes nothing through", () => assert.equal(passesTlsThrough(undefined), false));
  it("hosts may be limited to a namespace", () => {
    assert.deepEqual(["shop/a.example", "*/a.example", "a.example"].map(plainHost), [
      "a.example",
      "a.example",
      "a.example",
    ]);
  });
});
