import assert from "node:assert/strict";
import { test } from "node:test";
import { type Change, type Config, clusterName, type Endpoint, type Service } from "@flotilla/model";
import { type JsonObject, typeUrl } from "@flotilla/proto";
import type { Core } from "../../app/core.ts";
import {
  aConfig,
  aMesh,
  anEndpoint,
  aPort,
  aRouter,
  aService,
  aSidecar,
  namesOf,
  resourceOf,
} from "../../testing/mesh.ts";

const web = aService("web", "shop");
const webCluster = clusterName("outbound", 80, "", web.hostname);

function aRule(spec: JsonObject): Config {
  return aConfig("DestinationRule", "shop", "web", { host: web.hostname, ...spec });
}

function putEndpoints(core: Core, { namespace, hostname }: Service, endpoints: readonly Endpoint[]): void {
  const key = { shard: "Kubernetes/Kubernetes", namespace, hostname };
  const change: Change = { type: "endpoints", op: "put", key, value: endpoints };
  assert.deepEqual(core.apply([change]), []);
}

test("a router has the clusters of its services and one for what it refuses, none of its own workload", () => {
  const core = aMesh(web, aRule({ subsets: [{ name: "v1", labels: { version: "v1" } }] }));
  const names = namesOf(core, aRouter("shop"), typeUrl.cluster);
  assert.deepEqual(names, [webCluster, `outbound|80|v1|${web.hostname}`, "BlackHoleCluster"]);
});

test("callers of a router were going to the router: services without load balancing are balanced there", () => {
  const headless = aService("web", "shop", { resolution: "passthrough" });
  const core = aMesh(headless);
  putEndpoints(core, headless, [anEndpoint("10.1.0.1")]);
  const typeAt = (proxy: Parameters<typeof resourceOf>[1]) =>
    resourceOf(core, proxy, typeUrl.cluster, webCluster)?.["type"];
  assert.equal(typeAt(aSidecar("shop")), "ORIGINAL_DST");
  assert.equal(typeAt(aRouter("shop")), "EDS");
});

test("the protocol of a port without one is left to the routes of a router, and found out by a sidecar", () => {
  const core = aMesh(aService("web", "shop", { ports: [aPort("data", 80, "")] }));
  const optionsAt = (proxy: Parameters<typeof resourceOf>[1]) =>
    resourceOf(core, proxy, typeUrl.cluster, webCluster)?.["typedExtensionProtocolOptions"];
  assert.notEqual(optionsAt(aSidecar("shop")), undefined);
  assert.equal(optionsAt(aRouter("shop")), undefined);
});

test("credentials of any rule are asked for by a router, by sidecars where the rule selects them", () => {
  const core = aMesh(web, aRule({ trafficPolicy: { tls: { mode: "MUTUAL", credentialName: "client" } } }));
  const secretsAt = (proxy: Parameters<typeof resourceOf>[1]) => {
    const text = JSON.stringify(resourceOf(core, proxy, typeUrl.cluster, webCluster));
    return [...text.matchAll(/kubernetes:\/\/[a-z-]+/g)].map(([name]) => name);
  };
  assert.deepEqual(secretsAt(aSidecar("shop")), []);
  assert.deepEqual(secretsAt(aRouter("shop")), ["kubernetes://client", "kubernetes://client-cacert"]);
});

const views = [
  { name: "all networks without a view", view: undefined, addresses: ["10.1.0.1", "10.1.0.2", "10.1.0.3"] },
  { name: "one network, and endpoints of none", view: "n1", addresses: ["10.1.0.1", "10.1.0.3"] },
  { name: "several networks", view: "n1,n2", addresses: ["10.1.0.1", "10.1.0.2", "10.1.0.3"] },
];

for (const { name, view, addresses } of views) {
  test(`endpoints of the requested network view: ${name}`, () => {
    const core = aMesh(web);
    putEndpoints(core, web, [
      anEndpoint("10.1.0.1", { network: "n1" }),
      anEndpoint("10.1.0.2", { network: "n2" }),
      anEndpoint("10.1.0.3"),
    ]);
    const router = aRouter("shop", view === undefined ? {} : { REQUESTED_NETWORK_VIEW: view });
    const text = JSON.stringify(resourceOf(core, router, typeUrl.endpoint, webCluster));
    assert.deepEqual(
      [...text.matchAll(/"address":"([^"]+)"/g)].map(([, address]) => address),
      addresses,
    );
  });
}
