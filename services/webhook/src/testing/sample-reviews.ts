/** AdmissionReviews with what injection and validation look at. */

interface Sample {
  readonly path: string;
  readonly review: object;
}

function reviewOf(
  path: string,
  kind: { readonly group: string; readonly version: string; readonly kind: string },
  object: object,
): Sample {
  const request = { uid: "u1", kind, namespace: "shop", name: "web", operation: "CREATE", dryRun: false, object };
  return { path, review: { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request } };
}

const container = {
  name: "web",
  image: "web:1",
  args: ["--port", "8080"],
  env: [
    { name: "A", value: "b" },
    { name: "POD", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
  ],
  ports: [{ name: "http", containerPort: 8080, protocol: "TCP" }],
  volumeMounts: [{ name: "data", mountPath: "/data" }],
  resources: { requests: { cpu: "100m", memory: "64Mi" }, limits: { cpu: 1 } },
  securityContext: { runAsUser: 1000, runAsGroup: 1000, capabilities: { drop: ["ALL"] } },
  livenessProbe: {
    httpGet: { path: "/live", port: "http", httpHeaders: [{ name: "x", value: "y" }] },
    timeoutSeconds: 2,
  },
  readinessProbe: { tcpSocket: { port: 8080 } },
  startupProbe: { grpc: { port: 8080, service: "web" } },
  lifecycle: { preStop: { httpGet: { path: "/stop", port: 8080 } }, postStart: { exec: { command: ["true"] } } },
};

const pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    generateName: "web-5d4f8c7b9-",
    namespace: "shop",
    labels: { app: "web", "istio.io/rev": "default", "service.istio.io/canonical-name": "web" },
    annotations: {
      "sidecar.istio.io/inject": "true",
      "proxy.istio.io/config": "concurrency: 2\nproxyMetadata: {A: b}\nholdApplicationUntilProxyStarts: true\n",
      "sidecar.istio.io/userVolume": '[{"name":"v","emptyDir":{}}]',
      "sidecar.istio.io/userVolumeMount": '[{"name":"v","mountPath":"/v"}]',
      "sidecar.istio.io/proxyCPU": "10m",
      "sidecar.istio.io/bootstrapOverride": "boot",
      "traffic.sidecar.istio.io/includeInboundPorts": "80,443",
      "traffic.sidecar.istio.io/excludeOutboundIPRanges": "10.0.0.0/8",
      "prometheus.io/scrape": "true",
      "prometheus.io/port": "8080",
      "inject.istio.io/templates": "sidecar",
      "sidecar.istio.io/statsInclusionPrefixes": "cluster,listener",
    },
    ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "web-5d4f8c7b9", controller: true, uid: "u" }],
  },
  spec: {
    containers: [container, { name: "istio-proxy", image: "auto", env: [{ name: "X", value: "y" }] }],
    initContainers: [{ name: "init", image: "init", command: ["true"] }],
    volumes: [{ name: "data", emptyDir: {} }],
    imagePullSecrets: [{ name: "pull" }],
    securityContext: { fsGroup: 1337 },
    dnsConfig: { searches: ["shop.svc.cluster.local"] },
    serviceAccountName: "web",
    hostNetwork: false,
  },
};

const networking = (kind: string) => ({ group: "networking.istio.io", version: "v1", kind });
const object = (apiVersion: string, kind: string, spec: object) => ({
  ...{ apiVersion, kind, spec },
  metadata: { name: "web", namespace: "shop", labels: { a: "b" }, annotations: { c: "d" }, generation: 1 },
});
const istio = (kind: string, spec: object): Sample =>
  reviewOf("/validate", networking(kind), object("networking.istio.io/v1", kind, spec));
const host = "reviews.shop.svc.cluster.local";

export const sampleReviews: readonly Sample[] = [
  ...Array.from({ length: 4 }, () => reviewOf("/inject", { group: "", version: "v1", kind: "Pod" }, pod)),
  reviewOf("/inject/cluster/c1/net/n1", { group: "", version: "v1", kind: "Pod" }, { ...pod, metadata: {} }),
  istio("VirtualService", {
    hosts: [host],
    http: [
      {
        match: [{ uri: { regex: "/a.*" }, headers: { x: { exact: "y" } }, queryParams: { q: { prefix: "p" } } }],
        route: [
          {
            destination: { host, port: { number: 80 }, subset: "v1" },
            weight: 100,
            headers: { request: { set: { a: "b" } } },
          },
        ],
        retries: { attempts: 3, perTryTimeout: "2s" },
        fault: { delay: { fixedDelay: "1s", percentage: { value: 1 } } },
        rewrite: { uri: "/" },
        corsPolicy: { allowOrigins: [{ regex: ".*" }], maxAge: "1h" },
        timeout: "5s",
      },
    ],
    tcp: [{ match: [{ port: 90, destinationSubnets: ["10.0.0.0/8"] }], route: [{ destination: { host } }] }],
    tls: [{ match: [{ port: 443, sniHosts: ["a.example"] }], route: [{ destination: { host } }] }],
  }),
  istio("DestinationRule", {
    host,
    trafficPolicy: {
      loadBalancer: { consistentHash: { httpCookie: { name: "c", ttl: "0s" } } },
      outlierDetection: { consecutive5xxErrors: 5, interval: "1s" },
      tls: { mode: "SIMPLE" },
      connectionPool: { http: { http1MaxPendingRequests: 1 } },
    },
    subsets: [{ name: "v1", labels: { version: "v1" } }],
  }),
  istio("ServiceEntry", {
    hosts: ["a.example"],
    addresses: ["240.0.0.1"],
    ports: [{ number: 443, name: "https", protocol: "TLS" }],
    location: "MESH_EXTERNAL",
    resolution: "STATIC",
    endpoints: [{ address: "1.2.3.4", ports: { https: 443 }, labels: { a: "b" } }],
  }),
  istio("Gateway", {
    selector: { istio: "ingressgateway" },
    servers: [
      {
        port: { number: 443, name: "https", protocol: "HTTPS" },
        hosts: ["*"],
        tls: { mode: "SIMPLE", credentialName: "c" },
      },
    ],
  }),
  reviewOf(
    "/validate",
    { group: "security.istio.io", version: "v1", kind: "AuthorizationPolicy" },
    object("security.istio.io/v1", "AuthorizationPolicy", {
      selector: { matchLabels: { app: "web" } },
      action: "ALLOW",
      rules: [
        {
          from: [{ source: { principals: ["*"], ipBlocks: ["10.0.0.0/8"] } }],
          to: [{ operation: { paths: ["/a"], ports: ["80"] } }],
          when: [{ key: "request.headers[x]", values: ["y"] }],
        },
      ],
    }),
  ),
  reviewOf(
    "/validate",
    { group: "gateway.networking.k8s.io", version: "v1", kind: "HTTPRoute" },
    object("gateway.networking.k8s.io/v1", "HTTPRoute", {
      parentRefs: [{ kind: "Service", group: "", name: "reviews", port: 80 }],
      hostnames: ["a.example"],
      rules: [
        {
          matches: [{ path: { type: "PathPrefix", value: "/" }, headers: [{ name: "x", value: "y" }] }],
          filters: [{ type: "RequestHeaderModifier", requestHeaderModifier: { set: [{ name: "a", value: "b" }] } }],
          backendRefs: [{ name: "reviews", port: 80, weight: 1 }],
        },
      ],
    }),
  ),
];
