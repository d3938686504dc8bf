import assert from "node:assert/strict";
import { test } from "node:test";
import type { Config } from "@flotilla/model";
import { bytesToJson, type JsonObject, typeUrl } from "@flotilla/proto";
import { nameSet } from "@flotilla/xds";
import { Core } from "../../app/core.ts";
import type { Features } from "../../snapshot/features.ts";
import { aConfig, anEndpoint, aPort, apply, aService, aSidecar } from "../../testing/mesh.ts";

const ports = [aPort("http", 80, "GRPC"), aPort("tcp", 81, "TCP")];
const web = aService("web", "shop", { ports });
const host = web.hostname;

function aRule(spec: JsonObject): Config {
  return aConfig("DestinationRule", "shop", "web", { host, ...spec });
}

/** The clusters of these names that a program in `shop` gets. */
function clusters(names: readonly string[], rule?: JsonObject, features: Partial<Features> = {}) {
  const core = new Core({ features });
  apply(core, web, ...(rule === undefined ? [] : [aRule(rule)]));
  const key = { shard: "Kubernetes/Kubernetes", namespace: "shop", hostname: host };
  const value = [anEndpoint("10.1.0.1", { serviceAccount: "spiffe://cluster.local/ns/shop/sa/web" })];
  assert.deepEqual(core.apply([{ type: "endpoints", op: "put", key, value }]), []);
  const subject = core.subjectOf(aSidecar("shop", { GENERATOR: "grpc" }));
  const set = core.resources(subject, typeUrl.cluster, nameSet(names));
  return [...(set?.byName.values() ?? [])].map(({ bytes }) => bytesToJson(typeUrl.cluster, bytes) as JsonObject);
}

const subsets = [{ name: "v1", labels: { version: "v1" } }];

test("a program gets the clusters that it names, of ports and subsets that there are", () => {
  const names = [
    `outbound|80||${host}`,
    `outbound|81||${host}`,
    `outbound|80|v1|${host}`,
    `outbound|80|v2|${host}`,
    `inbound|80|v1|${host}`,
    `outbound|82||${host}`,
    `outbound_.80_._.${host}`,
    "outbound|80||nobody.example",
    "nothing",
  ];
  assert.deepEqual(
    clusters(names, { subsets }).map(({ name }) => name),
    [`outbound|80|v1|${host}`, `outbound|80||${host}`, `outbound|81||${host}`],
  );
  assert.deepEqual(clusters([]), []);
});

test("a cluster without a rule discovers its endpoints, and leaves the rest to gRPC", () => {
  const name = `outbound|80||${host}`;
  assert.deepEqual(clusters([name]), [
    {
      "@type": typeUrl.cluster,
      name,
      altStatName: `${name};`,
      type: "EDS",
      edsClusterConfig: { serviceName: name, edsConfig: { ads: {} } },
    },
  ]);
});

const policies = [
  { name: "calls in turn, which is gRPC's default", policy: { loadBalancer: { simple: "ROUND_ROBIN" } }, want: {} },
  { name: "what gRPC does not have", policy: { loadBalancer: { simple: "RANDOM" } }, want: {} },
  {
    name: "the fewest requests",
    policy: { loadBalancer: { simple: "LEAST_REQUEST" } },
    want: { lbPolicy: "LEAST_REQUEST" },
  },
  {
    name: "a hash of a header",
    policy: { loadBalancer: { consistentHash: { httpHeaderName: "x" } } },
    want: { lbPolicy: "RING_HASH", ringHashLbConfig: { minimumRingSize: "1024" } },
  },
  {
    name: "a bound of requests",
    policy: {
      connectionPool: { http: { http2MaxRequests: 4, http1MaxPendingRequests: 1 }, tcp: { maxConnections: 1 } },
    },
    want: { circuitBreakers: { thresholds: [{ maxRequests: 4 }] } },
  },
  { name: "a bound that gRPC has not", policy: { connectionPool: { tcp: { maxConnections: 1 } } }, want: {} },
  { name: "ejection, which istiod does not send", policy: { outlierDetection: { consecutive5xxErrors: 2 } }, want: {} },
  { name: "TLS by files", policy: { tls: { mode: "SIMPLE" } }, want: {} },
  {
    name: "other settings of another port",
    policy: { portLevelSettings: [{ port: { number: 81 }, loadBalancer: { simple: "LEAST_REQUEST" } }] },
    want: {},
  },
  {
    name: "settings of its own port alone",
    policy: {
      connectionPool: { http: { http2MaxRequests: 4 } },
      portLevelSettings: [{ port: { number: 80 }, loadBalancer: { simple: "LEAST_REQUEST" } }],
    },
    want: { lbPolicy: "LEAST_REQUEST" },
  },
] as const;

for (const { name, policy, want } of policies) {
  test(`a rule asks for ${name}`, () => {
    const [cluster] = clusters([`outbound|80||${host}`], { trafficPolicy: policy as unknown as JsonObject });
    const { "@type": _, name: __, altStatName, type, edsClusterConfig, ...rest } = cluster ?? {};
    assert.equal(type, "EDS");
    assert.deepEqual(rest, want);
  });
}

test("a rule of mutual TLS names certificate providers and who may answer", () => {
  const [cluster] = clusters([`outbound|80||${host}`], { trafficPolicy: { tls: { mode: "ISTIO_MUTUAL" } } });
  const text = JSON.stringify(cluster?.["transportSocket"]);
  assert.match(text, /"matchSubjectAltNames":\[\{"exact":"spiffe:\/\/cluster\.local\/ns\/shop\/sa\/web"\}\]/);
  assert.equal(text.match(/"instanceName":"default","certificateName":"default"/g)?.length, 2);
  assert.equal(text.match(/"instanceName":"default","certificateName":"ROOTCA"/g)?.length, 2);
});

test("a rule of mutual TLS names no identity where no endpoint has one", () => {
  const core = new Core();
  apply(core, web, aRule({ trafficPolicy: { tls: { mode: "ISTIO_MUTUAL" } } }));
  const subject = core.subjectOf(aSidecar("shop", { GENERATOR: "grpc" }));
  const name = `outbound|80||${host}`;
  const cluster = core.resources(subject, typeUrl.cluster, nameSet([name]))?.byName.get(name);
  assert.ok(cluster);
  const text = JSON.stringify(bytesToJson(typeUrl.cluster, cluster.bytes));
  assert.match(text, /"instanceName":"default","certificateName":"ROOTCA"/);
  assert.doesNotMatch(text, /matchSubjectAltNames/);
});

const ejections = [
  { name: "5 errors where it gives no number", rule: {}, volume: 5 },
  { name: "its number of errors", rule: { consecutive5xxErrors: 3, maxEjectionPercent: 50 }, volume: 3, percent: 50 },
  {
    name: "the smaller of two numbers",
    rule: { consecutive5xxErrors: 7, consecutiveGatewayErrors: 4, interval: "2s", baseEjectionTime: "9s" },
    volume: 4,
    times: { interval: "2s", baseEjectionTime: "9s" },
  },
  { name: "no errors at all, for there is no ejection", rule: { consecutive5xxErrors: 0 }, volume: undefined },
] as const;

for (const { name, rule, volume, ...more } of ejections) {
  test(`with the setting, a rule of outlier detection counts ${name}`, () => {
    const spec = { trafficPolicy: { outlierDetection: rule } } as unknown as JsonObject;
    const [cluster] = clusters([`outbound|80||${host}`], spec, { grpcOutlierDetection: true });
    const want = {
      enforcingSuccessRate: 0,
      enforcingFailurePercentage: 100,
      failurePercentageMinimumHosts: 2,
      failurePercentageRequestVolume: volume,
      ...("percent" in more && { maxEjectionPercent: more.percent }),
      ...("times" in more && more.times),
    };
    assert.deepEqual(cluster?.["outlierDetection"], volume === undefined ? undefined : want);
  });
}

test("requests of a session stay with an endpoint that drains", () => {
  const core = new Core({ features: { persistentSessionFilter: true } });
  apply(core, aService("web", "shop", { labels: { "istio.io/persistent-session": "id" } }));
  const subject = core.subjectOf(aSidecar("shop", { GENERATOR: "grpc" }));
  const name = `outbound|80||${host}`;
  const cluster = core.resources(subject, typeUrl.cluster, nameSet([name]))?.byName.get(name);
  assert.ok(cluster);
  const { commonLbConfig } = bytesToJson(typeUrl.cluster, cluster.bytes) as JsonObject;
  assert.deepEqual(commonLbConfig, {
    overrideHostStatus: { statuses: ["HEALTHY", "DRAINING", "UNKNOWN", "DEGRADED"] },
  });
});
