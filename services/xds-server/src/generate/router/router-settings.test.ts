/** Listeners and clusters of a gateway by its node and by settings of the control plane, and single fields of them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { KubeObject } from "@flotilla/model";
import { type JsonObject, typeUrl } from "@flotilla/proto";
import { aKubeMesh, anEntry, anObject, fieldAt, inShort } from "../../testing/kube-mesh.ts";
import { aRouter, namesOf, resourceOf } from "../../testing/mesh.ts";

interface Given {
  readonly servers?: readonly JsonObject[];
  readonly objects?: readonly KubeObject[];
  readonly metadata?: JsonObject;
  readonly mesh?: JsonObject;
  readonly env?: Readonly<Record<string, string>>;
}

const server = (number: number, protocol: string, more: JsonObject = {}) => ({
  ...{ port: { number, name: "p", protocol }, hosts: ["*"] },
  ...more,
});
const https = server(443, "HTTPS", { tls: { mode: "SIMPLE", credentialName: "c" }, hosts: ["a.example"] });
const destination = { host: "a.shop.example" };

function meshOf({ servers = [server(80, "HTTP")], objects = [], mesh = {}, env = {} }: Given) {
  const gateway = anObject("Gateway", "shop/gw", { selector: { app: "gateway" }, servers: [...servers] });
  const routes = anObject("VirtualService", "shop/v", {
    ...{ hosts: ["*"], gateways: ["gw"], http: [{ route: [{ destination }] }], tcp: [{ route: [{ destination }] }] },
  });
  return aKubeMesh([anEntry("a"), gateway, routes, ...objects], { mesh, env });
}

const proxyOf = ({ metadata }: Given) => aRouter("shop", metadata);
/** Ports of the gateway's Service lead to 8443. */
const ports = [
  { name: "https", port: 443, targetPort: 8443 },
  { name: "quic", port: 443, targetPort: 8443, protocol: "UDP" },
];
const service = anObject("Service", "shop/gateway", {
  spec: { selector: { app: "gateway" }, clusterIP: "10.96.0.9", clusterIPs: ["10.96.0.9"], ports },
});
const http3 = { servers: [https], objects: [service], env: { PILOT_ENABLE_QUIC_LISTENERS: "true" } };
const remote = {
  PILOT_ENABLE_AMBIENT: "true",
  AMBIENT_ENABLE_MULTI_NETWORK: "true",
  AMBIENT_ENABLE_MULTI_NETWORK_INGRESS: "true",
};
const passing = { servers: [server(15443, "TLS", { tls: { mode: "AUTO_PASSTHROUGH" }, hosts: ["*.example"] })] };
const unprivileged = { metadata: { UNPRIVILEGED_POD: "true" } };

const names: readonly (readonly [name: string, given: Given, type: "listener" | "cluster", is: string])[] = [
  ["a privileged port", {}, "listener", "[0.0.0.0_80]"],
  ["none at a privileged port without the privilege", unprivileged, "listener", "[]"],
  [
    "the first port that needs no privilege",
    { ...unprivileged, servers: [server(1023, "HTTP"), server(1024, "HTTP")] },
    "listener",
    "[0.0.0.0_1024]",
  ],
  ["HTTPS over TCP and QUIC", http3, "listener", "[0.0.0.0_8443, udp_0.0.0.0_8443]"],
  ["HTTPS over TCP alone without the setting", { ...http3, env: {} }, "listener", "[0.0.0.0_8443]"],
  [
    "tunnels to other networks",
    { env: remote },
    "listener",
    "[0.0.0.0_80, connect_originate, inner_connect_originate, outer_connect_originate]",
  ],
  [
    "no tunnels to other networks without their setting",
    { env: { ...remote, AMBIENT_ENABLE_MULTI_NETWORK_INGRESS: "false" } },
    "listener",
    "[0.0.0.0_80, connect_originate]",
  ],
  [
    "clusters of tunnels",
    { env: remote },
    "cluster",
    "[outbound|80||a.shop.example, BlackHoleCluster, connect_originate, inner_connect_originate, outer_connect_originate]",
  ],
  [
    "clusters of all services, and one for what leads nowhere",
    {},
    "cluster",
    "[outbound|80||a.shop.example, BlackHoleCluster]",
  ],
  [
    "clusters by server name, of a gateway between networks",
    passing,
    "cluster",
    "[outbound|80||a.shop.example, BlackHoleCluster, outbound_.80_._.a.shop.example]",
  ],
  [
    "none of those outside of the mesh",
    { ...passing, objects: [anEntry("b", { location: "MESH_EXTERNAL" })] },
    "cluster",
    "[outbound|80||a.shop.example, outbound|80||b.shop.example, BlackHoleCluster, outbound_.80_._.a.shop.example]",
  ],
  [
    "clusters that a route leads to alone",
    { env: { PILOT_FILTER_GATEWAY_CLUSTER_CONFIG: "true" }, objects: [anEntry("b")] },
    "cluster",
    "[outbound|80||a.shop.example, BlackHoleCluster]",
  ],
];

const manager = "filterChains.0.filters.0.typedConfig";
const quic = ["listener", "udp_0.0.0.0_8443"] as const;
const plain = ["listener", "0.0.0.0_80"] as const;

const fields: readonly (readonly [
  name: string,
  given: Given,
  of: readonly ["listener" | "cluster" | "route", string],
  at: string,
  is: string,
])[] = [
  ["the port of QUIC", http3, quic, "address", "{socketAddress: {protocol: UDP, address: 0.0.0.0, portValue: 8443}}"],
  ["datagrams of QUIC", http3, quic, "udpListenerConfig", "{downstreamSocketConfig: {}, quicOptions: {}}"],
  ["HTTP/3", http3, quic, `${manager}.codecType`, "HTTP3"],
  ["options of HTTP/3", http3, quic, `${manager}.http3ProtocolOptions`, "{}"],
  ["TLS of QUIC", http3, quic, "filterChains.0.transportSocket.name", "envoy.transport_sockets.quic"],
  ["no looking at TLS before QUIC", http3, quic, "listenerFilters", "none"],
  [
    "that HTTP/3 is there",
    http3,
    ["route", "https.443.p.gw.shop"],
    "virtualHosts.0.routes.0.responseHeadersToAdd",
    '[{header: {key: alt-svc, value: h3=":443"; ma=86400}}]',
  ],
  [
    "nothing of HTTP/3 without it",
    { ...http3, env: {} },
    ["route", "https.443.p.gw.shop"],
    "virtualHosts.0.routes.0.responseHeadersToAdd",
    "none",
  ],
  ["the time for a handshake", {}, plain, "filterChains.0.transportSocketConnectTimeout", "15s"],
  [
    "no bound of a handshake",
    { env: { PILOT_GATEWAY_TRANSPORT_SOCKET_CONNECT_TIMEOUT: "0s" } },
    plain,
    "filterChains.0.transportSocketConnectTimeout",
    "none",
  ],
  [
    "connections that are accepted at once",
    { env: { MAX_CONNECTIONS_PER_SOCKET_EVENT_LOOP: "3" } },
    plain,
    "maxConnectionsToAcceptPerSocketEvent",
    "3",
  ],
  [
    "hosts with the same routes in one virtual host",
    { servers: [server(80, "HTTP", { hosts: ["a.example", "b.example"] })] },
    ["route", "http.80"],
    "virtualHosts.0.domains",
    "[a.example, b.example]",
  ],
  [
    "hosts with the same routes in virtual hosts of their own",
    {
      servers: [server(80, "HTTP", { hosts: ["a.example", "b.example"] })],
      env: { PILOT_ENABLE_ROUTE_COLLAPSE_OPTIMIZATION: "false" },
    },
    ["route", "http.80"],
    "virtualHosts.1.domains",
    "[b.example]",
  ],
  [
    "the time to connect to nowhere",
    { mesh: { connectTimeout: "3s" } },
    ["cluster", "BlackHoleCluster"],
    "connectTimeout",
    "3s",
  ],
  [
    "the tunnel within a tunnel",
    { env: remote },
    ["cluster", "inner_connect_originate"],
    "loadAssignment.endpoints.0.lbEndpoints.0.endpoint.address",
    "{envoyInternalAddress: {serverListenerName: outer_connect_originate}}",
  ],
  [
    "who opens a tunnel",
    { env: remote },
    ["listener", "outer_connect_originate"],
    "filterChains.0.filters.0.typedConfig.tunnelingConfig.headersToAdd",
    "[{header: {key: x-istio-source, value: gateway}, appendAction: OVERWRITE_IF_EXISTS_OR_ADD}]",
  ],
  [
    "what a caller shows, by the topology",
    { metadata: { PROXY_CONFIG: { gatewayTopology: { forwardClientCertDetails: "FORWARD_ONLY" } } } },
    plain,
    `${manager}.forwardClientCertDetails`,
    "FORWARD_ONLY",
  ],
  [
    "hops of its own topology",
    {
      mesh: { defaultConfig: { gatewayTopology: { numTrustedProxies: 1 } } },
      metadata: { PROXY_CONFIG: { gatewayTopology: { numTrustedProxies: 3 } } },
    },
    plain,
    `${manager}.xffNumTrustedHops`,
    "3",
  ],
  [
    "the PROXY protocol before it",
    { mesh: { defaultConfig: { gatewayTopology: { proxyProtocol: {} } } } },
    plain,
    "listenerFilters",
    "[{name: envoy.filters.listener.proxy_protocol, typedConfig: {ProxyProtocol}}]",
  ],
  [
    "fields of the caller's certificate",
    {},
    plain,
    `${manager}.setCurrentClientCertDetails`,
    "{subject: true, cert: true, dns: true, uri: true}",
  ],
  [
    "connections shared evenly",
    { metadata: { OUTBOUND_LISTENER_EXACT_BALANCE: "true" } },
    plain,
    "connectionBalanceConfig",
    "{exactBalance: {}}",
  ],
  [
    "weights of TCP",
    {
      servers: [server(9000, "TCP")],
      objects: [
        anObject("VirtualService", "shop/a", {
          hosts: ["*"],
          gateways: ["gw"],
          tcp: [
            {
              route: [
                { destination, weight: 30 },
                { destination: { host: "b.shop.example" }, weight: 70 },
              ],
            },
          ],
        }),
        anEntry("b"),
      ],
    },
    ["listener", "0.0.0.0_9000"],
    "filterChains.0.filters.0.typedConfig.weightedClusters",
    "{clusters: [{name: outbound|80||a.shop.example, weight: 30}, {name: outbound|80||b.shop.example, weight: 70}]}",
  ],
  [
    "names of a passing cluster",
    passing,
    ["cluster", "outbound_.80_._.a.shop.example"],
    "edsClusterConfig.serviceName",
    "outbound_.80_._.a.shop.example",
  ],
  [
    "no TLS of its own in a passing cluster",
    passing,
    ["cluster", "outbound_.80_._.a.shop.example"],
    "transportSocketMatches",
    "none",
  ],
];

describe("names of a gateway's resources", () => {
  for (const [name, given, type, is] of names)
    it(name, () => assert.equal(inShort([...namesOf(meshOf(given), proxyOf(given), typeUrl[type])]), is));
});

describe("fields of a gateway's resources", () => {
  for (const [name, given, [type, of], at, is] of fields)
    it(name, () =>
      assert.equal(inShort(fieldAt(resourceOf(meshOf(given), proxyOf(given), typeUrl[type], of), at)), is),
    );
});
