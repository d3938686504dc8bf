/** A mesh of 2,000 services and 1,000 proxies as the contract shows it, without a control plane. Equal on each start but for the time. */
import type {
  GenerationRow,
  ObjectRow,
  Overview,
  ProxyDetail,
  ProxyRow,
  RejectionGroup,
  ResourceRow,
  TopologyService,
} from "../contract/index.ts";

/** Everything that the sample server answers from; tests change it. */
export interface SampleMesh {
  generation: number;
  readonly proxies: ProxyRow[];
  readonly objects: ObjectRow[];
  readonly services: TopologyService[];
  readonly rejections: RejectionGroup[];
  readonly changes: GenerationRow[];
}

/** Those of the sample mesh. */
export const namespaces = [
  "shop",
  "payments",
  "search",
  "accounts",
  "media",
  "platform",
  "edge",
  "analytics",
  "mail",
  "batch",
];
const apps = ["web", "cart", "catalog", "reviews", "ratings", "orders", "billing", "ledger", "profile", "images"];
const kinds = ["VirtualService", "DestinationRule", "ServiceEntry", "AuthorizationPolicy", "Sidecar", "Telemetry"];
const started = Date.now();

/** An instant so many seconds before now, as the contract writes it. */
export function ago(seconds: number): string {
  return new Date(started - seconds * 1000).toISOString();
}

/** Builds the sample. */
export function sampleMesh(proxyCount = 1000, serviceCount = 2000): SampleMesh {
  const generation = 4182;
  const blamed = "VirtualService/shop/checkout";
  return {
    generation,
    proxies: Array.from({ length: proxyCount }, (_, at) => proxyAt(at, generation)),
    objects: Array.from({ length: Math.floor(serviceCount * 0.75) }, (_, at) => objectAt(at, generation, proxyCount)),
    services: Array.from({ length: serviceCount }, (_, at) => serviceAt(at)),
    rejections: [
      {
        object: blamed,
        type: "rds",
        resources: ["8080", "http.8080"],
        message:
          "Error adding/updating listener(s) 0.0.0.0_8080: Only unique values for domains are permitted. Duplicate entry of domain checkout.shop",
        field: "RouteConfiguration.virtual_hosts",
        firstAt: ago(412),
        lastAt: ago(18),
        proxies: Array.from({ length: proxyCount }, (_, at) => at)
          .filter((at) => at % 97 === 3)
          .map(proxyName),
        proxyCount: Array.from({ length: proxyCount }, (_, at) => at).filter((at) => at % 97 === 3).length,
        generation,
      },
    ],
    changes: Array.from({ length: 240 }, (_, at) => changeAt(at, generation - at)),
  };
}

/** The name of the proxy with a number. */
export function proxyName(at: number): string {
  return `${apps[at % 10]}-v${(at % 3) + 1}-${(at * 7919).toString(36).padStart(5, "0")}.${namespaces[Math.floor(at / 10) % 10]}`;
}

function proxyAt(at: number, generation: number): ProxyRow {
  const state = at % 97 === 3 ? "rejected" : at % 61 === 5 ? "sending" : "synced";
  const type = at % 100 === 0 ? "router" : at % 250 === 1 ? "waypoint" : at % 50 === 2 ? "ztunnel" : "sidecar";
  const names = type === "ztunnel" ? ["wds", "wads"] : ["cds", "eds", "lds", "rds", "sds"];
  return {
    ...{ proxy: proxyName(at), namespace: namespaces[Math.floor(at / 10) % 10] ?? "", type, state, cluster: "main" },
    ...{
      version: at % 9 === 0 ? "1.39.2" : "1.40.0",
      replica: `xds-server-${at % 3}`,
      peer: `10.4.${at >> 8}.${at & 255}:41${100 + (at % 800)}`,
    },
    connectedAt: ago(60 + ((at * 131) % 400_000)),
    types: Object.fromEntries(
      names.map((name) => [
        name,
        {
          state: state !== "synced" && (name === "rds" || name === "wds") ? state : "synced",
          version: ((at + 1) * 2_654_435_761).toString(16).slice(0, 12),
          sentAt: ago(18 + (at % 90)),
          sentGeneration: generation,
          ackedGeneration: state === "synced" ? generation : generation - 1,
          ...(state === "rejected" && name === "rds" ? { error: "Only unique values for domains are permitted." } : {}),
        },
      ]),
    ),
  };
}

function objectAt(at: number, generation: number, proxies: number): ObjectRow {
  const [kind, namespace] = [kinds[at % kinds.length] ?? "", namespaces[at % 10] ?? ""];
  const name = at === 0 ? "checkout" : `${apps[Math.floor(at / 10) % 10]}-${at}`;
  const state =
    at === 0
      ? "rejected"
      : at % 211 === 7
        ? "refused"
        : at % 89 === 4
          ? "arriving"
          : at % 73 === 6
            ? "warning"
            : "live";
  const concerned = kind === "Sidecar" ? 40 : Math.min(proxies, 12 + ((at * 37) % 900));
  return {
    ...{ object: `${kind}/${namespace}/${name}`, kind, namespace, name, state },
    source: at % 3 === 0 ? "api" : "kubernetes/main",
    generation: generation - (at % 800),
    by: at % 3 === 0 ? "istio-system/deployer" : "kubernetes/main",
    live: state === "live" || state === "warning" ? concerned : state === "refused" ? 0 : Math.floor(concerned * 0.4),
    concerned,
    ...(state === "refused" ? { reason: "spec.http[0].route: weights sum up to 90, not 100" } : {}),
    ...(state === "rejected" ? { reason: "Only unique values for domains are permitted." } : {}),
    ...(state === "warning" ? { reason: "spec.hosts[0]: no service has this host" } : {}),
  };
}

function serviceAt(at: number): TopologyService {
  const namespace = namespaces[at % 10] ?? "";
  const endpoints = (at * 13) % 40;
  return {
    ...{
      hostname: `${apps[Math.floor(at / 10) % 10]}-${at}.${namespace}.svc.cluster.local`,
      namespace,
      registry: "Kubernetes",
    },
    ports: [{ name: "http", number: 8080, protocol: "HTTP" }],
    ...{ endpoints, healthy: at % 17 === 0 ? Math.floor(endpoints / 2) : endpoints },
  };
}

function changeAt(at: number, generation: number): GenerationRow {
  const object = objectAt(at * 3, generation, 1000).object;
  return {
    ...{
      generation,
      at: ago(18 + at * at * 3),
      by: at % 3 === 0 ? "istio-system/deployer" : "kubernetes/main",
      changes: 1 + (at % 4),
    },
    objects: [{ object, op: at % 11 === 0 ? "created" : at % 17 === 0 ? "deleted" : "changed" }],
    arrival: {
      ...{ messages: 40 + (at % 300), bytes: 12_000 + at * 731, lastAckMs: 48 + ((at * 29) % 400) },
      ...{ together: 1 + (at % 5 === 4 ? 2 : 0), waiting: at === 0 ? 16 : 0, rejections: at === 0 ? 11 : 0 },
    },
  };
}

/** The answer of the overview, from the rows. */
export function sampleOverview(mesh: SampleMesh): Overview {
  const count = (pick: (row: ProxyRow) => string): Record<string, number> => {
    const counts: Record<string, number> = {};
    for (const row of mesh.proxies) counts[pick(row)] = (counts[pick(row)] ?? 0) + 1;
    return counts;
  };
  const states = { synced: 0, sending: 0, rejected: 0, ...count(({ state }) => state) };
  const objects = (state: string): number => mesh.objects.filter((row) => row.state === state).length;
  const service = (name: Overview["services"][number]["service"], replica = name as string) => ({
    ...{ service: name, replica, state: "ready" as const, detail: "", version: "0.1.0", startedAt: ago(190_000) },
  });
  return {
    away: [],
    services: [
      service("config-controller"),
      service("service-controller"),
      ...[0, 1, 2].map((at) => ({
        ...service("xds-server", `xds-server-${at}`),
        generation: mesh.generation - (at === 2 ? 1 : 0),
        proxies: mesh.proxies.filter(({ replica }) => replica === `xds-server-${at}`).length,
      })),
      service("ca"),
      { ...service("webhook"), state: "not-ready", detail: "certificate" },
    ],
    generation: mesh.generation,
    proxies: {
      total: mesh.proxies.length,
      byState: states,
      ...{ byType: count(({ type }) => type), byVersion: count(({ version }) => version) },
      byReplica: count(({ replica }) => replica),
    },
    objects: {
      total: mesh.objects.length,
      ...{ live: objects("live"), arriving: objects("arriving"), warning: objects("warning") },
      ...{ rejected: objects("rejected"), refused: objects("refused") },
    },
    rejections: mesh.rejections.slice(0, 5),
    rejectionCount: mesh.rejections.length,
    problems: [
      {
        ...{ severity: "error", service: "config-controller", object: "DestinationRule/analytics/web-7" },
        ...{ field: "spec.trafficPolicy.tls.mode", reason: "MUTUAL needs clientCertificate" },
      },
      {
        ...{ severity: "warning", service: "config-controller", object: "VirtualService/edge/cart-6" },
        ...{ field: "spec.hosts[0]", reason: "no service has this host" },
      },
      { severity: "info", service: "service-controller", reason: "12 endpoints have no readiness" },
    ],
    problemCounts: { error: 1, warning: 1, info: 1 },
    pushes: {
      stepMs: 60_000,
      ...{ p50Ms: 48, p99Ms: 190, wastedShare: 0.004 },
      samples: Array.from({ length: 60 }, (_, at) => ({
        at: ago((60 - at) * 60),
        pushes: Math.round(300 + 250 * Math.sin(at / 6)),
        ...{ bytes: 420_000, rejections: at > 52 ? 11 : 0 },
        ...{ p50Ms: 46 + 8 * Math.sin(at / 3), p99Ms: 160 + 60 * Math.sin(at / 4) },
      })),
    },
  };
}

/** One proxy with what it has. */
export function sampleProxy(mesh: SampleMesh, name: string): ProxyDetail | undefined {
  const row = mesh.proxies.find(({ proxy }) => proxy === name);
  if (row === undefined) return undefined;
  const rejections = row.state === "rejected" ? mesh.rejections : [];
  return {
    ...row,
    labels: { app: name.split("-")[0] ?? "", version: "v2", "topology.istio.io/network": "" },
    metadata: { CLUSTER_ID: "main", INTERCEPTION_MODE: "REDIRECT", NODE_NAME: "worker-4" },
    locality: "eu-west/eu-west-1a",
    resources: [
      { type: "cds", count: 2012, bytes: 1_480_221 },
      { type: "lds", count: 214, bytes: 640_112 },
      { type: "rds", count: 88, bytes: 912_004 },
      { type: "eds", count: 2009, bytes: 733_410 },
      { type: "sds", count: 2, bytes: 4_880 },
    ],
    rejections,
    hasStats: true,
  };
}

/** The resources of a type, equal for every proxy. */
export function sampleResources(mesh: SampleMesh, type: string): readonly ResourceRow[] {
  return mesh.services.slice(0, type === "sds" ? 2 : 1200).map(({ hostname, namespace }, at) => ({
    type,
    name: type === "sds" ? (["default", "ROOTCA"][at] ?? "") : `outbound|8080||${hostname}`,
    version: (at * 2_654_435_761).toString(16).padStart(12, "0"),
    bytes: 400 + ((at * 37) % 900),
    madeFrom: [`Service/${namespace}/${hostname.split(".")[0]}`, `DestinationRule/${namespace}/web-${at}`],
    madeFromCount: 2 + (at % 5),
  }));
}
