import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Change,
  type Config,
  clusterName,
  type Endpoint,
  type Proxy,
  type Service,
  sniName,
} from "@flotilla/model";
import { type JsonObject, typeUrl } from "@flotilla/proto";
import { Core } from "../../app/core.ts";
import { fieldAt } from "../../testing/kube-mesh.ts";
import {
  aConfig,
  aMesh,
  anEndpoint,
  aPort,
  apply,
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
  const typeAt = (proxy: Proxy) => resourceOf(core, proxy, typeUrl.cluster, webCluster)?.["type"];
  assert.equal(typeAt(aSidecar("shop")), "ORIGINAL_DST");
  assert.equal(typeAt(aRouter("shop")), "EDS");
});

test("a rule that sends calls of a router on to where they went changes no port there", () => {
  const entry = aService("web", "shop", { resolution: "passthrough", passthroughTargetPorts: { 80: 8080 } });
  const core = aMesh(entry, aRule({ trafficPolicy: { loadBalancer: { simple: "PASSTHROUGH" } } }));
  const at = (proxy: Proxy) => {
    const { type, originalDstLbConfig } = resourceOf(core, proxy, typeUrl.cluster, webCluster) ?? {};
    return { type, originalDstLbConfig };
  };
  assert.deepEqual(at(aSidecar("shop")), { type: "ORIGINAL_DST", originalDstLbConfig: { upstreamPortOverride: 8080 } });
  assert.deepEqual(at(aRouter("shop")), { type: "ORIGINAL_DST", originalDstLbConfig: undefined });
});

test("the protocol of a port without one is left to the routes of a router, and found out by a sidecar", () => {
  const core = aMesh(aService("web", "shop", { ports: [aPort("data", 80, "")] }));
  const optionsAt = (proxy: Proxy) =>
    resourceOf(core, proxy, typeUrl.cluster, webCluster)?.["typedExtensionProtocolOptions"];
  assert.notEqual(optionsAt(aSidecar("shop")), undefined);
  assert.equal(optionsAt(aRouter("shop")), undefined);
});

test("credentials of any rule are asked for by a router, by sidecars where the rule selects them", () => {
  const core = aMesh(web, aRule({ trafficPolicy: { tls: { mode: "MUTUAL", credentialName: "client" } } }));
  const secretsAt = (proxy: Proxy) => {
    const text = JSON.stringify(resourceOf(core, proxy, typeUrl.cluster, webCluster));
    return [...text.matchAll(/kubernetes:\/\/[a-z-]+/g)].map(([name]) => name);
  };
  assert.deepEqual(secretsAt(aSidecar("shop")), []);
  assert.deepEqual(secretsAt(aRouter("shop")), ["kubernetes://client", "kubernetes://client-cacert"]);
});

test("a router checks servers by the Secret of a rule alone, and not at all where the rule asks for it", () => {
  const contextWith = (settings: JsonObject) => {
    const tls = { mode: "SIMPLE", credentialName: "client", ...settings };
    const cluster = resourceOf(
      aMesh(web, aRule({ trafficPolicy: { tls } })),
      aRouter("shop"),
      typeUrl.cluster,
      webCluster,
    );
    return fieldAt(cluster, "transportSocket.typedConfig.commonTlsContext") as JsonObject;
  };
  assert.deepEqual(
    fieldAt(contextWith({ caCrl: "/crl.pem" }), "combinedValidationContext.defaultValidationContext"),
    {},
  );
  assert.deepEqual(Object.keys(contextWith({ insecureSkipVerify: true })), ["tlsParams"]);
});

test("a BackendTLSPolicy whose roots do not exist closes connections of routers and sidecars, never opens them in plain text", () => {
  const tls = { mode: "SIMPLE", credentialName: "invalid://", sni: "web.example" };
  const core = aMesh(web, aRule({ trafficPolicy: { tls } }));
  for (const proxy of [aSidecar("shop"), aRouter("shop")]) {
    const text = JSON.stringify(resourceOf(core, proxy, typeUrl.cluster, webCluster)?.["transportSocket"]);
    assert.match(text, /"validationContextSdsSecretConfig":\{"name":"invalid:\/\/".*UpstreamTlsContext/);
  }
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

function eastWest(mode: string): Config {
  return aConfig("Gateway", "shop", "eastwest", {
    selector: { app: "gateway" },
    servers: [{ port: { number: 15443, name: "tls", protocol: "TLS" }, hosts: ["*.local"], tls: { mode } }],
  });
}

const webBySni = sniName("outbound", 80, "", web.hostname);

test("a gateway between networks has a second cluster of each mesh service, found by server name", () => {
  const outside = aService("far", "shop", { hostname: "far.example", registry: "External", meshExternal: true });
  const namesWith = (mode: string) =>
    namesOf(aMesh(web, outside, eastWest(mode)), aRouter("shop"), typeUrl.cluster).filter((name) =>
      name.includes("_."),
    );
  assert.deepEqual(namesWith("AUTO_PASSTHROUGH"), [webBySni]);
  assert.deepEqual(namesWith("PASSTHROUGH"), []);
});

test("callers' TLS passes a gateway between networks as it is, whatever a rule says, to endpoints that end it", () => {
  const policy = {
    tls: { mode: "SIMPLE", sni: "web.example" },
    proxyProtocol: {},
    connectionPool: { tcp: { maxConnections: 7 } },
  };
  const core = aMesh(web, eastWest("AUTO_PASSTHROUGH"), aRule({ trafficPolicy: policy }));
  const cluster = resourceOf(core, aRouter("shop"), typeUrl.cluster, webBySni);
  assert.match(JSON.stringify(cluster), /"maxConnections":7/);
  assert.doesNotMatch(JSON.stringify(cluster), /transportSocket|web\.example/);
});

test("endpoints that do not end the mesh's TLS are out of reach through a gateway between networks", () => {
  const core = aMesh(web, eastWest("AUTO_PASSTHROUGH"));
  putEndpoints(core, web, [anEndpoint("10.1.0.1", { tlsMode: "istio" }), anEndpoint("10.1.0.2")]);
  const text = JSON.stringify(resourceOf(core, aRouter("shop"), typeUrl.endpoint, webBySni));
  assert.match(text, /10\.1\.0\.1/);
  assert.doesNotMatch(text, /10\.1\.0\.2/);
});

test("of two services with one host the oldest is a router's, the own namespace's a sidecar's", () => {
  const external: Partial<Service> = { hostname: "a.example", registry: "External" };
  const core = aMesh(
    aService("a", "bank", { ...external, creationTimeMs: 1, ports: [aPort("http", 81, "HTTP")] }),
    aService("a", "shop", { ...external, creationTimeMs: 2 }),
  );
  const namesAt = (proxy: Proxy) => namesOf(core, proxy, typeUrl.cluster).filter((name) => name.endsWith("a.example"));
  assert.deepEqual(namesAt(aRouter("shop")), ["outbound|81||a.example"]);
  assert.deepEqual(namesAt(aSidecar("shop")), ["outbound|80||a.example"]);
});

const gatewayOfShop = aConfig("Gateway", "shop", "gw", {
  selector: { app: "gateway" },
  servers: [{ port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["*"] }],
});

function aRoute(gateway: string, host: string): Config {
  return aConfig("VirtualService", "shop", `to-${host}`, {
    hosts: ["*"],
    gateways: [gateway],
    http: [{ route: [{ destination: { host } }] }],
  });
}

const filtered = [
  { name: "a route of the router's Gateway", more: [aRoute("gw", "web")], isKept: true },
  { name: "a route of another Gateway", more: [aRoute("other", "web")], isKept: false },
  { name: "a route of the mesh", more: [aRoute("mesh", "web")], isKept: false },
  {
    name: "keys of an issuer",
    more: [
      aConfig("RequestAuthentication", "shop", "jwt", {
        jwtRules: [{ issuer: "i", jwksUri: `http://${web.hostname}/keys` }],
      }),
    ],
    isKept: true,
  },
  { name: "an EnvoyFilter without the annotation", more: [aConfig("EnvoyFilter", "shop", "f", {})], isKept: false },
  {
    name: "the annotation of an EnvoyFilter",
    more: [
      {
        ...aConfig("EnvoyFilter", "shop", "f", {}),
        annotations: { "envoyfilter.istio.io/referenced-services": `other.example,shop/${web.hostname}` },
      },
    ],
    isKept: true,
  },
];

for (const { name, more, isKept } of filtered) {
  test(`PILOT_FILTER_GATEWAY_CLUSTER_CONFIG: ${name} ${isKept ? "keeps" : "does not keep"} the cluster`, () => {
    const core = new Core({ features: { filterGatewayClusterConfig: true } });
    apply(core, web, gatewayOfShop, ...more);
    const names = namesOf(core, aRouter("shop"), typeUrl.cluster);
    assert.deepEqual(names, isKept ? [webCluster, "BlackHoleCluster"] : ["BlackHoleCluster"]);
    const all = namesOf(aMesh(web, gatewayOfShop, ...more), aRouter("shop"), typeUrl.cluster);
    assert.deepEqual(all, [webCluster, "BlackHoleCluster"]);
  });
}

test("a proxy without a locality fails over from endpoints without one to all others", () => {
  const localityLbSetting = { enabled: true, failover: [{ from: "r1", to: "r2" }] };
  const core = aMesh(web, aRule({ trafficPolicy: { outlierDetection: {}, loadBalancer: { localityLbSetting } } }));
  putEndpoints(core, web, [anEndpoint("10.1.0.1", { locality: "r1/z1" }), anEndpoint("10.1.0.2")]);
  const groups = resourceOf(core, aRouter("shop"), typeUrl.endpoint, webCluster)?.["endpoints"] as JsonObject[];
  const byRegion = groups.map(({ locality, priority }) => [(locality as JsonObject)["region"] ?? "", priority ?? 0]);
  assert.deepEqual(byRegion, [
    ["", 0],
    ["r1", 1],
  ]);
});
