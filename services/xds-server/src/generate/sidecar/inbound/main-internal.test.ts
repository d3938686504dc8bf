/** Tunnels that end at a sidecar: which listeners and clusters it has for them, and what the chains within them match. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { typeUrl } from "@flotilla/proto";
import { inShort } from "../../../testing/kube-mesh.ts";
import { namesOf } from "../../../testing/mesh.ts";
import {
  aSidecarMesh,
  checkFields,
  type FieldCase,
  type SidecarGiven,
  sidecarOf,
} from "../../../testing/sidecar-fields.ts";

const ambient = { PILOT_ENABLE_AMBIENT: "true" };
const tunnels: SidecarGiven = { env: ambient, metadata: { ENABLE_HBONE: "true" } };
const within = ["listener", "main_internal"] as const;

const ofTunnels: readonly FieldCase[] = [
  [
    "which first bytes are looked at",
    tunnels,
    within,
    "listenerFilters",
    "[{name: envoy.filters.listener.original_dst, typedConfig: {OriginalDst}}, {name: envoy.filters.listener.http_inspector, typedConfig: {HttpInspector}, filterDisabled: {orMatch: {rules: [{destinationPortRange: {start: 80, end: 81}}, {destinationPortRange: {start: 9000, end: 9001}}]}}}]",
  ],
  [
    "HTTP without TLS",
    tunnels,
    within,
    "filterChains.0.filterChainMatch",
    "{prefixRanges: [{addressPrefix: 10.0.0.1, prefixLen: 32}], destinationPort: 80}",
  ],
  [
    "HTTP without metadata of peers",
    tunnels,
    within,
    "filterChains.0.filters.0.typedConfig.httpFilters.0.name",
    "envoy.filters.http.grpc_stats",
  ],
  [
    "a port of any protocol by what is read",
    tunnels,
    within,
    "filterChains.1.filterChainMatch",
    "{prefixRanges: [{addressPrefix: 10.0.0.1, prefixLen: 32}], destinationPort: 7000, applicationProtocols: [http/1.1, h2c]}",
  ],
  [
    "TCP by its port",
    tunnels,
    within,
    "filterChains.3.filterChainMatch",
    "{prefixRanges: [{addressPrefix: 10.0.0.1, prefixLen: 32}], destinationPort: 9000}",
  ],
  [
    "TCP to its cluster",
    tunnels,
    within,
    "filterChains.3.filters.1.typedConfig",
    "{statPrefix: inbound|9000||, cluster: inbound|9000||, TcpProxy}",
  ],
  [
    "requests for other ports",
    tunnels,
    within,
    "filterChains.4.filterChainMatch",
    "{prefixRanges: [{addressPrefix: 10.0.0.1, prefixLen: 32}], applicationProtocols: [http/1.1, h2c]}",
  ],
  [
    "connections for other ports",
    tunnels,
    within,
    "filterChains.5",
    "{filterChainMatch: {prefixRanges: [{addressPrefix: 10.0.0.1, prefixLen: 32}]}, filters: [{name: istio.metadata_exchange, typedConfig: {typeUrl: type.googleapis.com/envoy.tcp.metadataexchange.config.MetadataExchange, value: {enable_discovery: true, protocol: istio-peer-exchange}, TypedStruct}}, {name: envoy.filters.network.tcp_proxy, typedConfig: {statPrefix: InboundPassthroughCluster, cluster: InboundPassthroughCluster, TcpProxy}}], name: virtualInbound}",
  ],
  ["the listener itself", tunnels, within, "continueOnListenerFiltersTimeout", "true"],
  [
    "an address of IPv6",
    { ...tunnels, address: "2001:db8::1" },
    within,
    "filterChains.3.filterChainMatch.prefixRanges",
    "[{addressPrefix: 2001:db8::1, prefixLen: 128}]",
  ],
];

const hboneNames: readonly (readonly [name: string, given: SidecarGiven, is: string])[] = [
  [
    "all of a sidecar that ends tunnels",
    tunnels,
    "[[connect_terminate, main_internal, connect_originate], [main_internal, connect_originate]]",
  ],
  ["the beginning of tunnels otherwise", { env: ambient }, "[[connect_originate], [connect_originate]]"],
  [
    "the end alone where none are opened",
    { ...tunnels, env: { ...ambient, PILOT_ENABLE_SENDING_HBONE: "false" } },
    "[[connect_terminate, main_internal], [main_internal]]",
  ],
  [
    "the beginning where none are ended",
    { ...tunnels, env: { ...ambient, PILOT_ENABLE_SIDECAR_LISTENING_HBONE: "false" } },
    "[[connect_originate], [connect_originate]]",
  ],
  [
    "a listener and no cluster of one that may not send",
    { ...tunnels, metadata: { ...tunnels.metadata, DISABLE_HBONE_SEND: "true" } },
    "[[connect_terminate, main_internal, connect_originate], [main_internal]]",
  ],
  ["none outside of ambient", { metadata: { ENABLE_HBONE: "true" } }, "[[], []]"],
];

describe("within tunnels", () => checkFields(ofTunnels));
describe("listeners and clusters of tunnels", () => {
  for (const [name, given, is] of hboneNames)
    it(name, () => {
      const names = (type: "listener" | "cluster") =>
        namesOf(aSidecarMesh(given), sidecarOf(given), typeUrl[type]).filter((one) =>
          /connect|main_internal/.test(one),
        );
      assert.equal(inShort([[...names("listener")], [...names("cluster")]]), is);
    });
});
