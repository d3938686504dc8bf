/** Clusters, listeners and filters of HBONE tunnels: each by its distinguishing fields. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create, type JsonObject, type JsonValue, toJson } from "@flotilla/proto";
import { type Cluster, ClusterSchema } from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import { type Listener, ListenerSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_pb";
import { HttpFilterSchema } from "@flotilla/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb";
import type { AccessLogs } from "../listeners/listener-traits.ts";
import { peerMetadataFilter } from "./filter-state.ts";
import {
  connectOriginateCluster,
  innerConnectOriginateCluster,
  internalCluster,
  outerConnectOriginateCluster,
  type TunnelInputs,
} from "./hbone-clusters.ts";
import {
  connectOriginateListener,
  connectTerminateListener,
  innerConnectOriginateListener,
  outerConnectOriginateListener,
} from "./hbone-listeners.ts";

/** The value at a path of keys and indexes, separated by blanks. */
function at(json: JsonValue | undefined, path: string): JsonValue | undefined {
  return path.split(" ").reduce<JsonValue | undefined>((value, key) => (value as JsonObject | undefined)?.[key], json);
}

/** Each path with the value that is found there; undefined for a field that is absent. */
type Fields = Readonly<Record<string, JsonValue | undefined>>;

function hasFields(json: JsonValue, fields: Fields): void {
  const found = Object.fromEntries(Object.keys(fields).map((path) => [path, at(json, path)]));
  assert.deepEqual(found, { ...fields });
}

const tunnel: TunnelInputs = {
  peers: ["spiffe://td/"],
  compliance: "",
  connectTimeout: undefined,
  idleTimeout: undefined,
  streamWindow: 0,
  connectionWindow: 0,
  tracksRemaining: true,
};
const httpOptions = "typedExtensionProtocolOptions envoy.extensions.upstreams.http.v3.HttpProtocolOptions";
const http2 = `${httpOptions} explicitHttpConfig http2ProtocolOptions`;
const perConnection = `${httpOptions} commonHttpProtocolOptions maxRequestsPerConnection`;
const tls = "transportSocket typedConfig commonTlsContext";

describe("clusters of tunnels", () => {
  const cases: readonly (readonly [name: string, cluster: Cluster, fields: Fields])[] = [
    [
      "an internal cluster leads to the listener of its name",
      internalCluster({ name: "main_internal", tracksRemaining: false }),
      {
        "loadAssignment endpoints 0 lbEndpoints 0 endpoint address envoyInternalAddress serverListenerName":
          "main_internal",
        "transportSocket name": "internal_upstream",
        filters: undefined,
      },
    ],
    [
      "an internal cluster may lead to another listener",
      internalCluster({ name: "encap", listener: "connect_originate", tracksRemaining: false }),
      {
        name: "encap",
        "loadAssignment endpoints 0 lbEndpoints 0 endpoint address envoyInternalAddress serverListenerName":
          "connect_originate",
      },
    ],
    [
      "a tunnel goes to the port of HBONE, of the waypoint before an endpoint where there is one",
      connectOriginateCluster(tunnel),
      {
        type: "ORIGINAL_DST",
        lbPolicy: "CLUSTER_PROVIDED",
        connectTimeout: "10s",
        "originalDstLbConfig upstreamPortOverride": 15008,
        "originalDstLbConfig metadataKey": {
          key: "envoy.filters.listener.original_dst",
          path: [{ key: "waypoint" }],
        },
        [perConnection]: undefined,
        [`${http2} allowConnect`]: true,
        [`${http2} initialStreamWindowSize`]: undefined,
      },
    ],
    [
      "a tunnel has the mesh's connect timeout and the windows of the settings",
      connectOriginateCluster({
        ...tunnel,
        connectTimeout: { seconds: 3n, nanos: 0 } as never,
        streamWindow: 65_535,
        connectionWindow: 131_070,
      }),
      {
        connectTimeout: "3s",
        [`${http2} initialStreamWindowSize`]: 65_535,
        [`${http2} initialConnectionWindowSize`]: 131_070,
      },
    ],
    [
      "the tunnel to another network's gateway goes to the port of HBONE, one request a connection",
      outerConnectOriginateCluster(tunnel),
      {
        "originalDstLbConfig upstreamPortOverride": 15008,
        "originalDstLbConfig metadataKey": undefined,
        [perConnection]: 1,
      },
    ],
    [
      "the tunnel within goes through the outer one, with TLS of its own",
      innerConnectOriginateCluster(tunnel),
      {
        "loadAssignment endpoints 0 lbEndpoints 0 endpoint address envoyInternalAddress serverListenerName":
          "outer_connect_originate",
        "transportSocket name": "internal_upstream_with_tls",
        "transportSocket typedConfig transportSocket name": "tls",
        [perConnection]: 1,
      },
    ],
    [
      "TLS of tunnels is version 1.3 with HTTP/2, to peers of the mesh",
      connectOriginateCluster(tunnel),
      {
        [`${tls} alpnProtocols`]: ["h2"],
        [`${tls} tlsParams tlsMinimumProtocolVersion`]: "TLSv1_3",
        [`${tls} combinedValidationContext defaultValidationContext matchTypedSubjectAltNames`]: [
          { sanType: "URI", matcher: { prefix: "spiffe://td/" } },
        ],
      },
    ],
    [
      "TLS of tunnels under a compliance policy has its version",
      connectOriginateCluster({ ...tunnel, compliance: "fips-140-2" }),
      { [`${tls} tlsParams tlsMaximumProtocolVersion`]: "TLSv1_2" },
    ],
  ];
  for (const [name, cluster, fields] of cases) it(name, () => hasFields(toJson(ClusterSchema, cluster), fields));
});

const logs: AccessLogs = { listener: [], tunnelEnd: [], tunnelStart: [] } as never;
const textFactory = "istio.hashable_string";
const aFilter = (name: string) => create(HttpFilterSchema, { name });
const ending = {
  ...{ address: "0.0.0.0", extraAddresses: [], logs, tls: tunnel, authorization: [], textFactory },
  peerMetadata: undefined,
  keepsSource: false,
};
const manager = "filterChains 0 filters 0 typedConfig";
const proxy = (index: number) => `filterChains 0 filters ${index} typedConfig tunnelingConfig`;

describe("listeners of tunnels", () => {
  const cases: readonly (readonly [name: string, listener: Listener, fields: Fields])[] = [
    [
      "the end of tunnels asks for a certificate of the mesh and hands connections to main_internal",
      connectTerminateListener(ending),
      {
        "address socketAddress portValue": 15008,
        additionalAddresses: undefined,
        "filterChains 0 transportSocket typedConfig requireClientCertificate": true,
        [`${manager} routeConfig virtualHosts 0 routes 0 route cluster`]: "main_internal",
        [`${manager} forwardClientCertDetails`]: "APPEND_FORWARD",
        [`${manager} httpFilters 0 name`]: "connect_authority",
        [`${manager} httpFilters 1 name`]: "envoy.filters.http.router",
      },
    ],
    [
      "the end of tunnels has one address for each family",
      connectTerminateListener({ ...ending, extraAddresses: ["::"] }),
      { "additionalAddresses 0 address socketAddress": { address: "::", portValue: 15008 } },
    ],
    [
      "the end of tunnels decides on callers before it keeps their state",
      connectTerminateListener({ ...ending, authorization: [aFilter("rbac")], peerMetadata: aFilter("peer") }),
      {
        [`${manager} httpFilters 0 name`]: "rbac",
        [`${manager} httpFilters 1 name`]: "peer",
        [`${manager} httpFilters 2 name`]: "connect_authority",
      },
    ],
    [
      "the start of a tunnel asks for the address that the connection was meant for",
      connectOriginateListener(logs, false),
      {
        "listenerFilters 0 name": "envoy.filters.listener.original_dst",
        [`${proxy(0)} hostname`]: "%DOWNSTREAM_LOCAL_ADDRESS%",
        [`${proxy(0)} headersToAdd`]: undefined,
      },
    ],
    [
      "the start of a tunnel names the caller where tunnels carry baggage",
      connectOriginateListener(logs, true),
      {
        "filterChains 0 filters 0 name": "upstream_hbone_peer_metadata",
        [`${proxy(1)} headersToAdd 0 header key`]: "baggage",
        [`${proxy(1)} propagateResponseHeaders`]: true,
      },
    ],
    [
      "the tunnel within another asks for the service of the other network",
      innerConnectOriginateListener({ logs, network: "n1", textFactory, baggage: false }),
      {
        listenerFilters: undefined,
        "filterChains 0 filters 0 name": "propagate_endpoint_metadata",
        [`${proxy(1)} hostname`]: "%FILTER_STATE(istio.double_hbone.hbone_target_address:PLAIN)%",
        [`${proxy(1)} headersToAdd 0 header`]: { key: "x-forwarded-network", value: "n1" },
      },
    ],
    [
      "the outer tunnel names the kind of its caller",
      outerConnectOriginateListener(logs, "waypoint"),
      {
        "listenerFilters 0 name": "envoy.filters.listener.original_dst",
        [`${proxy(0)} headersToAdd 0 header`]: { key: "x-istio-source", value: "waypoint" },
        [`${proxy(0)} headersToAdd 0 appendAction`]: "OVERWRITE_IF_EXISTS_OR_ADD",
      },
    ],
  ];
  for (const [name, listener, fields] of cases) it(name, () => hasFields(toJson(ListenerSchema, listener), fields));
});

describe("filters for the workloads at the ends of a tunnel", () => {
  const found = { workload_discovery: {} };
  const value = "typedConfig value";
  const cases: readonly (readonly [end: "downstream" | "upstream", baggage: boolean, fields: Fields])[] = [
    ["downstream", false, { downstream_discovery: [found], shared_with_upstream: true }],
    [
      "downstream",
      true,
      {
        downstream_discovery: [found, { baggage: {} }],
        downstream_propagation: [{ baggage: {} }],
        shared_with_upstream: true,
      },
    ],
    ["upstream", false, { upstream_discovery: [found] }],
    [
      "upstream",
      true,
      { upstream_discovery: [found, { upstream_filter_state: { peer_metadata_key: "upstream_peer" } }] },
    ],
  ];
  for (const [end, baggage, fields] of cases)
    it(`${end}, ${baggage ? "with" : "without"} baggage`, () => {
      const json = toJson(HttpFilterSchema, peerMetadataFilter(end, baggage));
      hasFields(json, { name: `waypoint_${end}_peer_metadata`, [value]: fields as JsonValue });
    });
});
