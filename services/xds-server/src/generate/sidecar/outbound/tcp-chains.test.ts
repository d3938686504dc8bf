import assert from "node:assert/strict";
import { test } from "node:test";
import { typeUrl } from "@flotilla/proto";
import { virtualService, virtualServiceName } from "../../../snapshot/scope/virtual-service.ts";
import { query } from "../../../snapshot/view.ts";
import { aConfig, aMesh, aPort, aService, aSidecar, resourceOf } from "../../../testing/mesh.ts";
import { tcpChains } from "./tcp-chains.ts";

/** The cluster to which connections to `db:5432` go when a VirtualService sends them to `other` without a port. */
function destination(...ports: readonly number[]): string | undefined {
  const db = aService("db", "shop", { defaultAddress: "10.1.0.1", ports: [aPort("tcp", 5432, "TCP")] });
  const other = aService("other", "shop", { ports: ports.map((port) => aPort(`tcp-${port}`, port, "TCP")) });
  const route = [{ destination: { host: "other" } }];
  const rule = aConfig("VirtualService", "shop", "v", { hosts: ["db"], tcp: [{ route }] });
  const listener = resourceOf(aMesh(db, other, rule), aSidecar("shop"), typeUrl.listener, "10.1.0.1_5432");
  return /"cluster":"([^"]*)"/.exec(JSON.stringify(listener))?.[1];
}

test("a TCP destination without a port means its service's only one, else the port that was called", () => {
  assert.equal(destination(6000), "outbound|6000||other.shop.svc.cluster.local");
  assert.equal(destination(6000, 6001), "outbound|5432||other.shop.svc.cluster.local");
});

test("TCP routes count for the gateway that a match names", () => {
  const match = [{ gateways: ["public"] }];
  const rule = aConfig("VirtualService", "shop", "v", {
    hosts: ["db"],
    gateways: ["mesh", "public"],
    tcp: [{ match, route: [{ destination: { host: "other", port: { number: 6000 } } }] }],
  });
  const [service, port] = [aService("db", "shop"), aPort("tcp", 5432, "TCP")];
  const core = aMesh(service, rule);
  const clusterFor = (gateway: string) => {
    const chains = query(`chains of ${gateway}`, (view) => {
      const config = view.read(virtualService, virtualServiceName.write({ namespace: "shop", name: "v" }));
      const virtualServices = config === undefined ? [] : [config];
      const place = { service, port, listenPort: port, cidr: undefined, aliases: undefined };
      return tcpChains(view, { ...place, virtualServices, gateway }).map(({ clusters }) => clusters);
    });
    return core.read(chains, core.subjectOf(aSidecar("shop")));
  };
  assert.deepEqual(clusterFor("mesh"), ["outbound|5432||db.shop.svc.cluster.local"]);
  assert.deepEqual(clusterFor("shop/public"), ["outbound|6000||other.shop.svc.cluster.local"]);
});

/** `server names > address ranges` of the chains of `db` on its port. */
function matches(protocol: string, rule: Readonly<Record<string, unknown>>): readonly string[] {
  const db = aService("db", "shop", { ports: [aPort("p", 5432, protocol)] });
  const config = aConfig("VirtualService", "shop", "v", { hosts: ["db"], ...rule });
  const core = aMesh(db, config);
  const chains = query(`matches of ${JSON.stringify(rule)}`, (view) => {
    const found = view.read(virtualService, virtualServiceName.write({ namespace: "shop", name: "v" }));
    const port = aPort("p", 5432, protocol);
    const place = { service: db, port, listenPort: port, cidr: undefined, aliases: undefined, gateway: "mesh" };
    return tcpChains(view, { ...place, virtualServices: found === undefined ? [] : [found] }).map(
      ({ serverNames, prefixes }) => `${serverNames.join()} > ${prefixes.join()}`,
    );
  });
  return core.read(chains, core.subjectOf(aSidecar("shop"))) ?? [];
}

const route = [{ destination: { host: "db" } }];

test("the ranges of a TCP route's matches share a chain, in order, and are dropped where a match has none", () => {
  const ranged = { match: [{ destinationSubnets: ["10.2.0.0/16"] }, { destinationSubnets: ["10.1.0.0/16"] }], route };
  const again = { match: [{ destinationSubnets: ["10.1.0.0/16", "10.2.0.0/16"] }], route };
  assert.deepEqual(matches("TCP", { tcp: [ranged, again] }), [" > 10.1.0.0/16,10.2.0.0/16", " > "]);
  assert.deepEqual(matches("TCP", { tcp: [{ match: [...ranged.match, { port: 5432 }], route }] }), [" > "]);
});

test("the ranges of a TLS match hold for those after it that have none", () => {
  const match = [
    { sniHosts: ["a.example"] },
    { sniHosts: ["b.example"], destinationSubnets: ["10.1.0.0/16"] },
    { sniHosts: ["c.example"] },
  ];
  const want = ["a.example > ", "b.example > 10.1.0.0/16", "c.example > 10.1.0.0/16"];
  assert.deepEqual(matches("TLS", { tls: [{ match, route }] }), want);
});
