/** The readable endpoints, and the answers that each must give about the objects of the test. */

export const secretValue = "the-value-of-a-secret-key";

export const consoleObjects = `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: { name: web, namespace: shop }
spec:
  hosts: [web.example]
  ports: [{ number: 80, name: http, protocol: HTTP }]
  resolution: STATIC
  endpoints: [{ address: 10.1.1.1 }]
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: { name: web, namespace: shop }
spec:
  hosts: [web.example]
  http:
  - timeout: 1s
    route: [{ destination: { host: web.example } }]
---
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: { name: default, namespace: shop }
spec: { mtls: { mode: STRICT } }
---
apiVersion: v1
kind: Secret
metadata: { name: pair, namespace: shop }
stringData: { password: ${secretValue} }
`;

interface ListedEndpoint {
  readonly path: string;
  // biome-ignore lint/suspicious/noExplicitAny: the JSON of many endpoints
  readonly isRight: (body: any) => boolean;
}

const cluster = "outbound|80||web.example";

export const listedEndpoints: readonly ListedEndpoint[] = [
  {
    path: "/api/v1/overview",
    isRight: ({ services, proxies, generation, objects, pushes }) =>
      services.length === 5 &&
      services.every(({ state, version }: { state: string; version: string }) => state === "ready" && version !== "") &&
      services.some(
        ({ service, generation: at }: { service: string; generation: number }) => service === "xds-server" && at > 0,
      ) &&
      proxies.total === 2 &&
      proxies.byType.sidecar === 2 &&
      generation > 0 &&
      objects.total === 5 &&
      Array.isArray(pushes.samples),
  },
  {
    path: "/api/v1/proxies?search=web&sort=-proxy",
    isRight: ({ rows, matching, total, facets }) =>
      matching === 1 &&
      total === 2 &&
      rows[0].proxy === "web.shop" &&
      rows[0].types.cds.version !== "" &&
      facets.type[0].value === "sidecar",
  },
  {
    path: "/api/v1/proxies/web.shop",
    isRight: ({ proxy, labels, metadata, resources }) =>
      proxy === "web.shop" &&
      labels.app === "web" &&
      metadata.CLUSTER_ID === "Kubernetes" &&
      resources.some(
        ({ type, count, bytes }: { type: string; count: number; bytes: number }) =>
          type === "cds" && count > 0 && bytes > 0,
      ),
  },
  {
    path: "/api/v1/proxies/web.shop/resources?type=cds&search=example",
    isRight: ({ rows }) =>
      rows[0].name === cluster && rows[0].madeFrom.includes("ServiceEntry/shop/web") && rows[0].bytes > 0,
  },
  {
    path: `/api/v1/proxies/web.shop/resource?type=cds&name=${encodeURIComponent(cluster)}`,
    isRight: ({ content, explanation }) =>
      content.name === cluster &&
      explanation.madeFrom.some(({ object }: { object: string }) => object === "ServiceEntry/shop/web"),
  },
  { path: "/api/v1/proxies/web.shop/diff", isRight: ({ rows }) => Array.isArray(rows) },
  { path: "/api/v1/proxies/web.shop/diff?with=cart.shop", isRight: ({ rows }) => Array.isArray(rows) },
  { path: "/api/v1/proxies/web.shop/config-dump", isRight: ({ configs }) => configs.length > 3 },
  { path: "/api/v1/rejections", isRight: ({ rows, total }) => rows.length === 0 && total === 0 },
  {
    path: "/api/v1/changes?search=web",
    isRight: ({ rows }) =>
      rows.some(
        ({ by, objects }: { by: string; objects: { object: string }[] }) =>
          by === "istio-system/flotilla-admin (API)" &&
          objects.some(({ object }) => object === "VirtualService/shop/web"),
      ),
  },
  {
    path: "/api/v1/objects?kind=VirtualService&state=live,warning,arriving",
    isRight: ({ rows, facets }) => rows[0].object === "VirtualService/shop/web" && facets.kind.length === 5,
  },
  {
    path: "/api/v1/objects/VirtualService/shop/web",
    isRight: ({ manifest, isEditable, source }) => /timeout: 1s/.test(manifest) && isEditable && source === "api",
  },
  {
    path: "/api/v1/objects/VirtualService/shop/web/history",
    isRight: ({ rows }) => rows.length === 1 && rows[0].generation > 0,
  },
  {
    path: "/api/v1/objects/VirtualService/shop/web/resources",
    isRight: ({ rows }) =>
      rows.some(({ type, name }: { type: string; name: string }) => type === "rds" && name === "80"),
  },
  {
    path: "/api/v1/kinds",
    isRight: ({ kinds }) => kinds.some(({ name }: { name: string }) => name === "VirtualService"),
  },
  {
    path: "/api/v1/kinds/VirtualService/schema",
    isRight: ({ schema }) => schema.properties.spec.properties.hosts !== undefined,
  },
  {
    path: "/api/v1/certificates",
    isRight: ({ roots, signing, rotation }) =>
      roots.length > 0 && signing.daysLeft > 0 && rotation.phase === "idle" && rotation.meaning !== "",
  },
  {
    path: "/api/v1/settings",
    isRight: ({ services }) =>
      services.length === 6 &&
      services.every(
        ({ settings, levels }: { settings: unknown[]; levels: unknown[] }) => settings.length > 10 && levels.length > 0,
      ),
  },
  {
    path: "/api/v1/topology/namespaces",
    isRight: ({ rows }) =>
      rows.some(
        ({ namespace, proxies, policies }: { namespace: string; proxies: number; policies: number }) =>
          namespace === "shop" && proxies === 2 && policies === 1,
      ),
  },
  {
    path: "/api/v1/topology/services?search=web",
    isRight: ({ rows }) => rows[0].hostname === "web.example" && rows[0].endpoints === 1,
  },
  {
    path: "/api/v1/topology/services/shop/web.example",
    isRight: ({ mtls, nodes, policies }) => mtls === "STRICT" && nodes.length > 0 && policies.length === 1,
  },
  {
    path: "/api/v1/topology/path?from=web.shop&host=web.example",
    isRight: ({ way }) =>
      way.proxy === "web.shop" &&
      way.hops.some(
        ({ kind, objects }: { kind: string; objects: string[] }) =>
          kind === "route" && objects.includes("VirtualService/shop/web"),
      ) &&
      way.destinations[0].cluster === cluster &&
      way.destinations[0].endpoints[0].address === "10.1.1.1:80",
  },
];
