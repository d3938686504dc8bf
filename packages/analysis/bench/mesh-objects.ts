/** A mesh of 100 namespaces as objects of Kubernetes: services with two pods each, and objects of the kinds that a mesh has many of. */

type Json = Readonly<Record<string, unknown>>;

const namespaces = 100;
const namespaceOf = (at: number) => `team-${at % namespaces}`;

function object(apiVersion: string, kind: string, at: number, rest: Json): Json {
  const metadata = { name: `${kind.toLowerCase()}-${at}`, namespace: namespaceOf(at), ...(rest["metadata"] as Json) };
  return { apiVersion, kind, ...rest, metadata };
}

const networking = "networking.istio.io/v1";
const security = "security.istio.io/v1";
const labelsOf = (at: number) => ({ app: `service-${at}`, version: "v1" });

export function virtualService(at: number, prefix = "/"): Json {
  const host = `service-${at}`;
  const route = [{ destination: { host, subset: "v1" } }];
  return object(networking, "VirtualService", at, {
    spec: {
      hosts: [host],
      http: [
        { match: [{ uri: { prefix: "/api" } }, { uri: { exact: "/" } }], route },
        { match: [{ uri: { prefix } }], route },
      ],
    },
  });
}

export function destinationRule(at: number, connections = 100): Json {
  const trafficPolicy = { connectionPool: { tcp: { maxConnections: connections } } };
  return object(networking, "DestinationRule", at, {
    spec: { host: `service-${at}`, trafficPolicy, subsets: [{ name: "v1", labels: labelsOf(at) }] },
  });
}

export function service(at: number, port = 80): Json {
  return object("v1", "Service", at, {
    metadata: { name: `service-${at}`, namespace: namespaceOf(at) },
    spec: { selector: { app: `service-${at}` }, ports: [{ name: "http", port, targetPort: 8080, protocol: "TCP" }] },
  });
}

export function pod(at: number, copy: number): Json {
  return object("v1", "Pod", at, {
    metadata: { name: `service-${at}-${copy}`, namespace: namespaceOf(at), labels: labelsOf(at) },
    spec: {
      containers: [
        { name: "app", image: "app" },
        { name: "istio-proxy", image: "proxyv2" },
      ],
    },
  });
}

export function namespace(at: number, labels: Json = { "istio-injection": "enabled" }): Json {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name: `team-${at}`, labels } };
}

function authorizationPolicy(at: number): Json {
  const rules = [
    {
      from: [{ source: { namespaces: [namespaceOf(at + 1)] } }],
      to: [{ operation: { methods: ["GET"], paths: ["/api/*"] } }],
    },
  ];
  return object(security, "AuthorizationPolicy", at, {
    spec: { selector: { matchLabels: { app: `service-${at}` } }, rules },
  });
}

function serviceEntry(at: number): Json {
  const ports = [{ number: 443, name: "tls", protocol: "TLS" }];
  return object(networking, "ServiceEntry", at, {
    spec: { hosts: [`api-${at}.example.com`], ports, resolution: "DNS", location: "MESH_EXTERNAL" },
  });
}

function gateway(at: number): Json {
  const servers = [
    {
      port: { number: 443, name: "https", protocol: "HTTPS" },
      tls: { mode: "SIMPLE", credentialName: `secret-${at}` },
      hosts: [`shop-${at}.example.com`],
    },
  ];
  return object(networking, "Gateway", at, { spec: { selector: { istio: "ingressgateway" }, servers } });
}

function peerAuthentication(at: number): Json {
  return object(security, "PeerAuthentication", at, {
    spec: { selector: { matchLabels: { app: `service-${at}` } }, mtls: { mode: "STRICT" } },
  });
}

function sidecar(at: number): Json {
  return object(networking, "Sidecar", at, {
    spec: { workloadSelector: { labels: { app: `service-${at}` } }, egress: [{ hosts: ["./*", "istio-system/*"] }] },
  });
}

const count = <T>(length: number, make: (at: number) => T): readonly T[] => Array.from({ length }, (_, at) => make(at));

/** So many services, 4,000 pods for 2,000 of them, and 3,000 objects of Istio's kinds. */
export function meshObjects(services: number): readonly Json[] {
  return [
    ...count(namespaces, (at) => namespace(at)),
    ...count(services, (at) => service(at)),
    ...count(services, (at) => [pod(at, 1), pod(at, 2)]).flat(),
    ...count(1_200, (at) => virtualService(at)),
    ...count(700, (at) => destinationRule(at)),
    ...count(400, authorizationPolicy),
    ...count(300, serviceEntry),
    ...count(100, gateway),
    ...count(150, peerAuthentication),
    ...count(150, sidecar),
  ];
}
