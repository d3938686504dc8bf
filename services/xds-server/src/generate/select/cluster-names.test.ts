/** Names of the clusters to services: all in scope for sidecars, those that routes need for routers whose clusters are limited. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { aConfig, aRouter, aService, aSidecar, put } from "../../testing/mesh.ts";
import { snapshotOf } from "../../testing/snapshot.ts";
import { outboundClusterNames } from "./cluster-names.ts";

const hostOf = (name: string) => `${name}.shop.svc.cluster.local`;
const changes = put(
  ...[aService("other", "shop"), aService("web", "shop")],
  aConfig("Gateway", "shop", "g", {
    selector: { app: "gateway" },
    servers: [{ port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["*"] }],
  }),
  aConfig("VirtualService", "shop", "v", {
    ...{ hosts: ["*"], gateways: ["g"], http: [{ route: [{ destination: { host: hostOf("web") } }] }] },
  }),
);
const features = { filterGatewayClusterConfig: true };

it("a router has those that its routes lead to, a sidecar those of all services", () => {
  const namesFor = (proxy: ReturnType<typeof aRouter>) => [
    ...snapshotOf({ changes, proxy, features }).read(outboundClusterNames),
  ];
  assert.deepEqual(namesFor(aRouter("shop")), [`outbound|80||${hostOf("web")}`]);
  assert.deepEqual(
    namesFor(aSidecar("shop")).sort(),
    ["other", "web"].map((name) => `outbound|80||${hostOf(name)}`),
  );
});
