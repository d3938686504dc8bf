/** The objects of a gateway `edge`: servers of Istio's API, listeners of the Gateway API, their certificates, routes and back ends. */
import type { KeyPair } from "@flotilla/testkit";

export const namespace = "shop";

/** All on 127.0.0.1. */
export interface GatewayPorts {
  /** Of the gateway, for servers of Istio's API. */
  readonly http: number;
  readonly https: number;
  /** Of the gateway, behind the Service of the Gateway API's Gateway. */
  readonly web: number;
  readonly tcp: number;
  readonly udp: number;
  /** For a certificate of another namespace. */
  readonly granted: number;
  /** Of back ends. */
  readonly v1: number;
  readonly v2: number;
  readonly plainTcp: number;
  readonly ownTls: number;
  /** They answer datagrams. */
  readonly u1: number;
  readonly u2: number;
}

export interface GatewayCertificates {
  readonly one: KeyPair;
  readonly two: KeyPair;
  readonly mutual: KeyPair;
  /** In the namespace of the keys. */
  readonly granted: KeyPair;
  /** The OCSP response in DER for the certificate of `one`. */
  readonly staple: Buffer;
  /** Whose clients `mutual.example` lets in. */
  readonly clientRoot: string;
}

interface Document {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  /** Undefined: that of the gateway. */
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly spec?: object;
  readonly data?: Readonly<Record<string, string>>;
  /** Of EndpointSlices, whose fields stand beside the metadata. */
  readonly addressType?: string;
  readonly endpoints?: readonly object[];
  readonly ports?: readonly object[];
}

/** As a stream of documents. `isGranted`: the gateway may use the certificate of the other namespace. */
export function gatewayMesh(ports: GatewayPorts, certificates: GatewayCertificates, isGranted: boolean): string {
  const documents = [
    ...backends(ports),
    ...secrets(certificates),
    ...istioObjects(ports),
    ...kubernetesObjects(ports),
    ...(isGranted ? [grant] : []),
  ].map(({ apiVersion, kind, name, namespace: home = namespace, labels = {}, ...rest }) =>
    JSON.stringify({ apiVersion, kind, metadata: { name, namespace: home, labels }, ...rest }),
  );
  return documents.join("\n---\n");
}

const istio = "networking.istio.io/v1";
const gatewayApi = "gateway.networking.k8s.io";

const keyNamespace = "keys";

const grant: Document = {
  ...{ apiVersion: `${gatewayApi}/v1beta1`, kind: "ReferenceGrant", name: "edge", namespace: keyNamespace },
  spec: { from: [{ group: gatewayApi, kind: "Gateway", namespace }], to: [{ group: "", kind: "Secret" }] },
};

function backends({ v1, v2, plainTcp, ownTls }: GatewayPorts): readonly Document[] {
  const entry = (name: string, port: number, protocol: string): Document => ({
    ...{ apiVersion: istio, kind: "ServiceEntry", name },
    spec: {
      ...{ hosts: [hostOf(name)], location: "MESH_INTERNAL", resolution: "STATIC" },
      ports: [{ number: 80, name: "main", protocol }],
      endpoints: [{ address: "127.0.0.1", ports: { main: port } }],
    },
  });
  return [
    entry("v1", v1, "HTTP"),
    entry("v2", v2, "HTTP"),
    {
      ...{ apiVersion: istio, kind: "ServiceEntry", name: "pair" },
      spec: {
        ...{ hosts: [hostOf("pair")], location: "MESH_INTERNAL", resolution: "STATIC" },
        ports: [{ number: 80, name: "main", protocol: "HTTP" }],
        endpoints: [v1, v2].map((port) => ({ address: "127.0.0.1", ports: { main: port } })),
      },
    },
    entry("plain-tcp", plainTcp, "TCP"),
    entry("own-tls", ownTls, "TLS"),
  ];
}

function hostOf(name: string): string {
  return `${name}.${namespace}.svc.cluster.local`;
}

function secrets({ one, two, mutual, granted, staple, clientRoot }: GatewayCertificates): readonly Document[] {
  return [
    secretOf("one", one, { "tls.ocsp-staple": staple }),
    secretOf("two", two),
    secretOf("mutual", mutual, { "ca.crt": clientRoot }),
    { ...secretOf("granted", granted), namespace: keyNamespace },
  ];
}

/** A Secret of the namespace. */
function secretOf(
  name: string,
  { certificatePem, keyPem }: KeyPair,
  more: Readonly<Record<string, string | Buffer>> = {},
): Document {
  const texts = Object.entries({ "tls.crt": certificatePem, "tls.key": keyPem, ...more });
  const data = Object.fromEntries(texts.map(([key, text]) => [key, Buffer.from(text).toString("base64")]));
  return { apiVersion: "v1", kind: "Secret", name, data };
}

function istioObjects({ http, https }: GatewayPorts): readonly Document[] {
  const tls = (name: string, settings: object) => ({
    port: { number: https, name, protocol: "HTTPS" },
    hosts: [`${name}.example`],
    tls: settings,
  });
  const routes = (name: string, spec: object): Document => ({
    ...{ apiVersion: istio, kind: "VirtualService", name },
    spec: { gateways: ["edge"], ...spec },
  });
  const to = (name: string, more: object = {}) => ({
    destination: { host: hostOf(name), port: { number: 80 } },
    ...more,
  });
  const plain = { number: http, name: "http", protocol: "HTTP" };
  return [
    {
      ...{ apiVersion: istio, kind: "Gateway", name: "edge" },
      spec: {
        selector: { app: "edge" },
        servers: [
          { port: plain, hosts: ["web.example"] },
          { port: { ...plain, name: "moved" }, hosts: ["secure.example"], tls: { httpsRedirect: true } },
          tls("one", { mode: "SIMPLE", credentialName: "one" }),
          tls("two", { mode: "SIMPLE", credentialName: "two" }),
          tls("mutual", { mode: "MUTUAL", credentialName: "mutual" }),
          tls("own", { mode: "PASSTHROUGH" }),
        ],
      },
    },
    routes("web", { hosts: ["web.example", "one.example", "mutual.example"], http: [{ route: [to("v1")] }] }),
    routes("two", { hosts: ["two.example"], http: [{ route: [to("v2")] }] }),
    routes("own", {
      hosts: ["own.example"],
      tls: [{ match: [{ port: https, sniHosts: ["own.example"] }], route: [to("own-tls")] }],
    }),
  ];
}

/** The Service stands for what would be deployed for the Gateway. */
function kubernetesObjects({ web, tcp, udp, granted, u1, u2 }: GatewayPorts): readonly Document[] {
  const parentRefs = (sectionName: string) => [{ name: "gate", sectionName }];
  const weighted = (name: string, weight: number, filters: readonly object[] = []) => ({
    ...{ name, port: 80, weight },
    ...(filters.length > 0 && { filters }),
  });
  const stamp = (value: string) => ({
    type: "RequestHeaderModifier",
    requestHeaderModifier: { set: [{ name: "x-backend", value }], remove: ["x-secret"] },
  });
  return [
    {
      ...{ apiVersion: "v1", kind: "Service", name: "gate-istio" },
      spec: {
        ...{ type: "ClusterIP", clusterIP: "10.255.0.1", selector: { app: "edge" } },
        ports: [
          { name: "http", port: 80, targetPort: web, protocol: "TCP" },
          { name: "tcp", port: 9000, targetPort: tcp, protocol: "TCP" },
          { name: "udp", port: 9001, targetPort: udp, protocol: "UDP" },
          { name: "granted", port: 9443, targetPort: granted, protocol: "TCP" },
        ],
      },
    },
    {
      ...{ apiVersion: `${gatewayApi}/v1`, kind: "Gateway", name: "gate" },
      spec: {
        gatewayClassName: "istio",
        listeners: [
          { name: "http", port: 80, protocol: "HTTP" },
          { name: "tcp", port: 9000, protocol: "TCP" },
          { name: "udp", port: 9001, protocol: "UDP" },
          {
            ...{ name: "granted", port: 9443, protocol: "HTTPS", hostname: "granted.example" },
            tls: { certificateRefs: [{ name: "granted", namespace: keyNamespace }] },
          },
        ],
      },
    },
    {
      ...{ apiVersion: `${gatewayApi}/v1`, kind: "HTTPRoute", name: "granted" },
      spec: { parentRefs: parentRefs("granted"), rules: [{ backendRefs: [weighted("v1", 1)] }] },
    },
    {
      ...{ apiVersion: `${gatewayApi}/v1`, kind: "HTTPRoute", name: "split" },
      spec: {
        parentRefs: parentRefs("http"),
        hostnames: ["split.example"],
        rules: [
          {
            backendRefs: [weighted("v1", 3, [stamp("first")]), weighted("v2", 1)],
            filters: [
              { type: "ResponseHeaderModifier", responseHeaderModifier: { add: [{ name: "x-gate", value: "1" }] } },
            ],
          },
          {
            matches: [{ path: { type: "PathPrefix", value: "/moved" } }],
            filters: [{ type: "RequestRedirect", requestRedirect: { hostname: "new.example", statusCode: 302 } }],
          },
        ],
      },
    },
    {
      ...{ apiVersion: `${gatewayApi}/v1`, kind: "HTTPRoute", name: "session" },
      spec: {
        parentRefs: parentRefs("http"),
        hostnames: ["session.example"],
        rules: [
          {
            matches: [{ path: { type: "PathPrefix", value: "/cookie" } }],
            backendRefs: [{ name: "pair", port: 80 }],
            sessionPersistence: { sessionName: "who" },
          },
          {
            matches: [{ path: { type: "PathPrefix", value: "/header" } }],
            backendRefs: [{ name: "pair", port: 80 }],
            sessionPersistence: { sessionName: "x-who", type: "Header" },
          },
        ],
      },
    },
    {
      ...{ apiVersion: `${gatewayApi}/v1alpha2`, kind: "TCPRoute", name: "plain" },
      spec: { parentRefs: parentRefs("tcp"), rules: [{ backendRefs: [{ name: "plain-tcp", port: 80 }] }] },
    },
    ...datagramService("u1", u1),
    ...datagramService("u2", u2),
    {
      ...{ apiVersion: `${gatewayApi}/v1`, kind: "UDPRoute", name: "datagrams" },
      spec: {
        parentRefs: parentRefs("udp"),
        rules: [{ backendRefs: [weighted("u1", 3), weighted("u2", 1), weighted("v1", 0)] }],
      },
    },
  ];
}

/** A Service with a port for UDP alone. */
function datagramService(name: string, port: number): readonly Document[] {
  return [
    {
      ...{ apiVersion: "v1", kind: "Service", name },
      spec: { clusterIP: "None", ports: [{ name: "udp", port: 80, targetPort: port, protocol: "UDP" }] },
    },
    {
      ...{ apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice", name },
      labels: { "kubernetes.io/service-name": name },
      ...{
        addressType: "IPv4",
        endpoints: [{ addresses: ["127.0.0.1"] }],
        ports: [{ name: "udp", port, protocol: "UDP" }],
      },
    },
  ];
}
