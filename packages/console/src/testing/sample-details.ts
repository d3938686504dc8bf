/** Answers about single things of the sample mesh: objects, comparisons, resources, certificates, settings, neighbours. */
import type {
  Certificates,
  ChangedObject,
  Comparison,
  KindSchema,
  Neighbourhood,
  ObjectDetail,
  ObjectHistory,
  ProxyDiff,
  ResourceDetail,
  Settings,
  StatRow,
} from "../contract/index.ts";
import { ago, type SampleMesh } from "./sample-mesh.ts";

const before = `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata:
  name: checkout
  namespace: shop
spec:
  hosts:
    - checkout.shop
  http:
    - route:
        - destination:
            host: checkout.shop.svc.cluster.local
            subset: v1
          weight: 100
`;
const after = before.replace(
  "subset: v1\n          weight: 100",
  "subset: v1\n          weight: 90\n        - destination:\n            host: checkout.shop.svc.cluster.local\n            subset: v2\n          weight: 10",
);

const changed = (object: string): ChangedObject => ({
  ...{ object, op: "changed", before, after },
  differences: [{ path: "spec.http[0].route[0].weight", before: 100, after: 90 }],
});

/** An object with its manifest. */
export function sampleObject(mesh: SampleMesh, object: string): ObjectDetail | undefined {
  const row = mesh.objects.find((one) => one.object === object);
  if (row === undefined) return undefined;
  const rejecting = mesh.rejections.filter((group) => group.object === object);
  return {
    ...row,
    manifest: after
      .replace("VirtualService", row.kind)
      .replace("name: checkout", `name: ${row.name}`)
      .replace("namespace: shop", `namespace: ${row.namespace}`),
    isEditable: row.source === "api",
    problems: row.state === "refused" ? [{ field: "spec.http[0].route", reason: "weights sum up to 90, not 100" }] : [],
    warnings: row.state === "warning" ? [{ field: "spec.hosts[0]", reason: "no service has this host" }] : [],
    conditions: [
      {
        ...{ type: "Programmed", status: row.state === "rejected" ? "False" : "True" },
        ...{ reason: "Reconciled", message: `in effect on ${row.live} of ${row.concerned} proxies` },
      },
    ],
    behind: row.live < row.concerned ? mesh.proxies.slice(0, 5).map(({ proxy }) => proxy) : [],
    isPrecise: true,
    rejections: rejecting.flatMap(({ proxies, message, lastAt }) =>
      proxies.slice(0, 5).map((proxy) => ({ proxy, message, at: lastAt })),
    ),
  };
}

/** The schema of a kind, cut down to what tests of the editor write. */
export function sampleSchema(kind: string): KindSchema {
  const destination = { type: "object", required: ["host"], properties: { host: { type: "string" } } };
  const route = { type: "array", items: { type: "object", properties: { destination, weight: { type: "integer" } } } };
  const http = { type: "array", items: { type: "object", properties: { route, timeout: { type: "string" } } } };
  const loadBalancer = {
    ...{ type: "object", description: "simple or consistentHash, not both." },
    properties: { simple: { type: "string", enum: ["ROUND_ROBIN", "LEAST_REQUEST", "RANDOM"] } },
  };
  const properties = {
    hosts: { type: "array", items: { type: "string" } },
    http,
    loadBalancer,
    tls: { type: "array" },
  };
  const apiVersion = "networking.istio.io/v1";
  return { kind, apiVersion, schema: { properties: { spec: { type: "object", properties } } } };
}

/** Differences between two generations. */
export function sampleComparison(from: number, to: number): Comparison {
  const rows: readonly ChangedObject[] = [
    changed("VirtualService/shop/checkout"),
    { object: "DestinationRule/shop/web-1", op: "created", differences: [], after: before },
    {
      object: "Secret/edge/web-certificate",
      op: "changed",
      differences: [],
      withheld: "the content of a Secret is not shown",
    },
  ];
  return { from, to, rows, matching: rows.length, total: rows.length, offset: 0, limit: 50, away: [] };
}

/** The generations that changed an object. */
export function sampleHistory(mesh: SampleMesh, object: string): ObjectHistory {
  const rows = mesh.changes.slice(0, 4).map((row) => ({ ...row, change: changed(object) }));
  return { rows, matching: rows.length, total: rows.length, offset: 0, limit: 50, away: [] };
}

/** One resource with its explanation. */
export function sampleResource(type: string, name: string): ResourceDetail {
  return {
    ...{ type, name, version: "9f86d081884c" },
    content: { name, connectTimeout: "10s", type: "EDS", circuitBreakers: { thresholds: [{ maxConnections: 4096 }] } },
    explanation: {
      generation: 4182,
      since: { generation: 4170, at: ago(3600) },
      change: {
        causedBy: ["DestinationRule/shop/web-1"],
        differences: [{ path: "circuitBreakers.thresholds[0].maxConnections", before: 1024, after: 4096 }],
      },
      madeFrom: [
        {
          object: "DestinationRule/shop/web-1",
          generation: 4170,
          at: ago(3600),
          by: "istio-system/deployer",
          source: "api",
        },
        { object: "settings of the mesh" },
      ],
      acknowledged: { generation: 4170, at: ago(3599) },
    },
  };
}

/** How a proxy differs from another, or from before. */
export function sampleProxyDiff(): ProxyDiff {
  const rows: ProxyDiff["rows"] = [
    {
      type: "rds",
      name: "8080",
      op: "changed",
      differences: [{ path: "virtualHosts[3].routes[0].route.weightedClusters", after: { v2: 10 } }],
    },
    { type: "cds", name: "outbound|8080|v2|checkout.shop.svc.cluster.local", op: "added", differences: [] },
  ];
  return { rows, matching: rows.length, total: rows.length, offset: 0, limit: 50, away: [] };
}

/** A root that is being replaced. */
export function sampleCertificates(): Certificates {
  const certificate = (name: string, daysLeft: number) => ({
    ...{
      name,
      serial: "5f:1a:07:22",
      sha256: "1f0c6a4bd2".repeat(6),
      notBefore: ago(86_400 * 30),
      notAfter: ago(-86_400 * daysLeft),
      daysLeft,
    },
  });
  return {
    away: [],
    trustDomains: ["cluster.local"],
    signing: { ...certificate("CN=intermediate-2", 300), origin: "self-signed" },
    roots: [certificate("CN=root-1", 41), certificate("CN=root-2", 3650)],
    rotation: {
      ...{
        phase: "trusting",
        meaning: "Both roots are trusted; certificates come from the old one until every proxy trusts the new one.",
      },
      ...{ since: ago(5400), roots: { old: "CN=root-1", next: "CN=root-2" }, certificates: 1004, proxies: 1000 },
      holdups: [{ name: "web-v1-00000.shop", reason: "has not acknowledged the new root", isConnected: true }],
    },
    stepMs: 60_000,
    issued: Array.from({ length: 60 }, (_, at) => ({
      at: ago((60 - at) * 60),
      issued: 12 + (at % 7),
      failed: at === 40 ? 2 : 0,
    })),
    endingSoon: [{ holder: "spiffe://cluster.local/ns/batch/sa/report", notAfter: ago(-40_000), isConnected: false }],
  };
}

/** Settings of three replicas. */
export function sampleSettings(): Settings {
  return {
    away: [{ service: "webhook", reason: "unreachable", message: "gives no answer on 127.0.0.1:15027" }],
    services: (["config-controller", "xds-server", "ca"] as const).map((service) => ({
      ...{ service, replica: service, version: "0.1.0" },
      settings: [
        { name: "LOG_LEVEL", value: "info", isDefault: true },
        { name: "NATS_URL", value: "nats://127.0.0.1:4222", isDefault: false },
        { name: "DEBOUNCE_AFTER", value: "100ms", isDefault: true },
      ],
      levels: [
        { scope: "default", level: "info" },
        { scope: "push", level: "debug" },
      ],
    })),
  };
}

/** A service between callers and what it calls. */
export function sampleNeighbours(mesh: SampleMesh, hostname: string, count = 100): Neighbourhood | undefined {
  const service = mesh.services.find((one) => one.hostname === hostname);
  if (service === undefined) return undefined;
  const others = mesh.services.filter((one) => one !== service).slice(0, count);
  const center = {
    id: hostname,
    label: hostname.split(".")[0] ?? "",
    kind: "service" as const,
    namespace: service.namespace,
    x: 0,
    y: 0,
  };
  const nodes = others.map((one, at) => {
    const angle = (at / count) * 2 * Math.PI;
    const radius = 0.55 + (0.4 * ((at * 7) % 10)) / 10;
    return {
      ...{ id: one.hostname, label: one.hostname.split(".")[0] ?? "", namespace: one.namespace },
      kind: at % 20 === 0 ? ("gateway" as const) : at % 33 === 1 ? ("external" as const) : ("service" as const),
      ...{ x: Math.cos(angle) * radius, y: Math.sin(angle) * radius },
    };
  });
  return {
    ...{ service, nodes: [center, ...nodes], omitted: 0, mtls: "STRICT", away: [] },
    edges: nodes.map(({ id }, at) => ({
      ...(at % 2 === 0 ? { from: id, to: hostname } : { from: hostname, to: id }),
      ...(at % 5 === 0 ? { weight: 90, object: "VirtualService/shop/checkout" } : {}),
      mtls: at % 9 === 0 ? "PERMISSIVE" : "STRICT",
    })),
    policies: [
      {
        object: "AuthorizationPolicy/shop/web-3",
        kind: "AuthorizationPolicy",
        summary: "allows GET from namespace edge",
      },
      { object: "DestinationRule/shop/web-1", kind: "DestinationRule", summary: "4,096 connections, 2 subsets" },
    ],
  };
}

/** Statistics of an Envoy with some clusters. */
export function sampleStats(mesh: SampleMesh): readonly StatRow[] {
  return mesh.services.slice(0, 300).map(({ hostname }, at) => ({
    name: `cluster_upstream_rq_total{cluster_name="outbound|8080||${hostname}"}`,
    value: at * 1_009,
  }));
}
