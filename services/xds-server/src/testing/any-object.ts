/** Objects of a small mesh for properties: few names and hosts, so that objects meet, each with values of its kind. */
import type { KubeObject } from "@flotilla/model";
import { fc } from "@flotilla/testkit";

const namespaces = ["shop", "bank", "istio-system"];
const hosts = ["a.shop.example", "b.shop.example", "c.bank.example"];
const app = (name: string) => ({ labels: { app: name } });
const selector = (name: string) => ({ selector: { matchLabels: { app: name } } });

/** A plain value that names its object, so that a counterexample can be read. */
export interface ObjectChoice {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** The number of its value; 0: there is no such object. */
  readonly value: number;
}

type Spec = (name: string, namespace: string) => object;

const route = (host: string, more: object = {}) => ({ route: [{ destination: { host, ...more } }] });

const kinds: Readonly<Record<string, { readonly group: string; readonly values: readonly Spec[] }>> = {
  ServiceEntry: {
    group: "networking.istio.io",
    values: [
      ...["STATIC", "DNS"].map(
        (resolution): Spec =>
          (name, namespace) =>
            entry(`${name}.${namespace}.example`, "http", resolution),
      ),
      (name, namespace) => entry(`${name}.${namespace}.example`, "tcp", "STATIC"),
      // Several entries of one host.
      () => entry("a.shop.example", "http", "STATIC", { workloadSelector: app("a") }),
      (name, namespace) => ({ ...entry(`${name}.${namespace}.example`, "http", "STATIC"), exportTo: ["."] }),
    ],
  },
  WorkloadEntry: {
    group: "networking.istio.io",
    values: ["a", "b"].map(
      (of): Spec =>
        (name) => ({ address: `10.1.0.${name.charCodeAt(0) - 96}`, ...app(of) }),
    ),
  },
  VirtualService: {
    group: "networking.istio.io",
    values: [
      () => ({ hosts: ["a.shop.example"], http: [{ ...route("b.shop.example"), timeout: "1s" }] }),
      () => ({
        hosts: ["a.shop.example", "b.shop.example"],
        http: [{ match: [{ sourceLabels: { app: "a" } }], ...route("c.bank.example") }],
      }),
      () => ({
        hosts: ["b.shop.example"],
        gateways: ["shop/a", "mesh"],
        http: [
          { match: [{ uri: { prefix: "/x" } }], ...route("a.shop.example", { subset: "v1" }) },
          route("b.shop.example"),
        ],
      }),
      () => ({ hosts: ["*.shop.example"], gateways: ["shop/a"], http: [route("c.bank.example")] }),
    ],
  },
  DestinationRule: {
    group: "networking.istio.io",
    values: hosts.flatMap((host): readonly Spec[] => [
      () => ({
        host,
        subsets: [{ name: "v1", labels: { version: "v1" } }],
        trafficPolicy: { tls: { mode: "ISTIO_MUTUAL" } },
      }),
      () => ({
        host,
        workloadSelector: { matchLabels: { app: "a" } },
        trafficPolicy: { connectionPool: { tcp: { maxConnections: 3 } } },
      }),
    ]),
  },
  Sidecar: {
    group: "networking.istio.io",
    values: [
      () => ({ egress: [{ hosts: ["./*"] }] }),
      () => ({ workloadSelector: app("a"), egress: [{ hosts: ["bank/*", "shop/b.shop.example"] }] }),
      () => ({ egress: [{ hosts: ["*/*"] }], outboundTrafficPolicy: { mode: "REGISTRY_ONLY" } }),
    ],
  },
  Gateway: {
    group: "networking.istio.io",
    values: ["a.shop.example", "*"].map(
      (host): Spec =>
        () => ({
          selector: { istio: "gateway" },
          servers: [{ port: { number: 80, name: "http", protocol: "HTTP" }, hosts: [host] }],
        }),
    ),
  },
  PeerAuthentication: {
    group: "security.istio.io",
    values: ["STRICT", "PERMISSIVE", "DISABLE"].map(
      (mode): Spec =>
        (name) => ({ mtls: { mode }, ...(name === "a" ? selector("a") : {}) }),
    ),
  },
  AuthorizationPolicy: {
    group: "security.istio.io",
    values: [
      () => ({ action: "DENY", rules: [{ to: [{ operation: { paths: ["/x"] } }] }] }),
      () => ({ ...selector("a"), rules: [{ from: [{ source: { namespaces: ["bank"] } }] }] }),
      () => ({ action: "AUDIT", rules: [{}] }),
    ],
  },
  RequestAuthentication: {
    group: "security.istio.io",
    values: [() => ({ ...selector("a"), jwtRules: [{ issuer: "x", jwks: '{"keys":[]}' }] })],
  },
  Telemetry: {
    group: "telemetry.istio.io",
    values: [true, false].map(
      (disabled): Spec =>
        () => ({ accessLogging: [{ providers: [{ name: "envoy" }], disabled }] }),
    ),
  },
  EnvoyFilter: {
    group: "networking.istio.io",
    values: ["1s", "2s"].map(
      (timeout): Spec =>
        (name) => ({
          priority: name.charCodeAt(0),
          configPatches: [
            {
              applyTo: "CLUSTER",
              match: { context: "ANY" },
              patch: { operation: "MERGE", value: { connect_timeout: timeout } },
            },
          ],
        }),
    ),
  },
};

function entry(host: string, protocol: string, resolution: string, more: object = {}): object {
  const endpoints = [
    { address: "10.0.0.1", ...app("a") },
    { address: "10.0.0.5", labels: { app: "b", version: "v1" }, locality: "r/z2" },
  ];
  const ports = [{ number: protocol === "http" ? 80 : 90, name: protocol, protocol: protocol.toUpperCase() }];
  return {
    hosts: [host],
    location: "MESH_INTERNAL",
    ports,
    resolution,
    ...("workloadSelector" in more ? {} : { endpoints }),
    ...more,
  };
}

export const anyObject: fc.Arbitrary<ObjectChoice> = fc
  .constantFrom(...Object.entries(kinds))
  .chain(([kind, { values }]) =>
    fc.record({
      kind: fc.constant(kind),
      namespace: fc.constantFrom(...namespaces),
      name: fc.constantFrom("a", "b"),
      value: fc.nat(values.length),
    }),
  );

export function objectOf({ kind, namespace, name, value }: ObjectChoice): {
  readonly object: KubeObject;
  readonly isPresent: boolean;
} {
  const { group = "", values = [] } = kinds[kind] ?? {};
  const spec = values[value - 1]?.(name, namespace);
  // Older the earlier its name: as in a cluster, not all objects have one age.
  const creationTimestamp = new Date(Date.UTC(2026, 0, name === "a" ? 1 : 2)).toISOString();
  const object = {
    apiVersion: `${group}/v1`,
    kind,
    metadata: { name, namespace, creationTimestamp },
    ...(spec && { spec }),
  };
  return { object: object as KubeObject, isPresent: spec !== undefined };
}
