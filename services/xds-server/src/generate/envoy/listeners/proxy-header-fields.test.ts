/** Headers that concern the proxies themselves: what `proxyHeaders` of the mesh's or the proxy's own ProxyConfig change. */
import { describe } from "node:test";
import type { JsonObject } from "@flotilla/proto";
import { checkFields, type FieldCase, type SidecarGiven } from "../../../testing/sidecar-fields.ts";

const headers = (proxyHeaders: JsonObject): SidecarGiven => ({ mesh: { defaultConfig: { proxyHeaders } } });
const ownHeaders = (proxyHeaders: JsonObject): SidecarGiven => ({ metadata: { PROXY_CONFIG: { proxyHeaders } } });

const inbound = ["listener", "virtualInbound"] as const;
const outbound = ["listener", "0.0.0.0_80"] as const;
/** The chain of port 80 without TLS. */
const manager = "filterChains.7.filters.1.typedConfig";
const first = "filterChains.0.filters.0.typedConfig";

const ofHeaders: readonly FieldCase[] = [
  ["the server's name to callers", {}, inbound, `${manager}.serverName`, "istio-envoy"],
  ["no name of ours on answers of others", {}, outbound, `${first}.serverName`, "none"],
  ["another name", headers({ server: { value: "shop" } }), outbound, `${first}.serverName`, "shop"],
  [
    "the server's own header",
    headers({ server: { disabled: true } }),
    inbound,
    `${manager}.serverHeaderTransformation`,
    "PASS_THROUGH",
  ],
  [
    "no name beside the server's own header",
    headers({ server: { disabled: true, value: "shop" } }),
    inbound,
    `${manager}.serverName`,
    "none",
  ],
  ["a request id", {}, inbound, `${manager}.generateRequestId`, "none"],
  ["no request id", headers({ requestId: { disabled: true } }), inbound, `${manager}.generateRequestId`, "false"],
  ["no port of the caller's address", {}, inbound, `${manager}.appendXForwardedPort`, "none"],
  [
    "the port of the caller's address",
    headers({ xForwardedPort: { enabled: true } }),
    inbound,
    `${manager}.appendXForwardedPort`,
    "true",
  ],
  ["who called, appended", {}, inbound, `${manager}.forwardClientCertDetails`, "APPEND_FORWARD"],
  [
    "who called, in place of what callers say",
    headers({ forwardedClientCert: "SANITIZE_SET" }),
    inbound,
    `${manager}.forwardClientCertDetails`,
    "SANITIZE_SET",
  ],
  [
    "nothing of who called",
    headers({ forwardedClientCert: "SANITIZE" }),
    inbound,
    `${manager}.forwardClientCertDetails`,
    "none",
  ],
  [
    "what callers say alone",
    headers({ forwardedClientCert: "FORWARD_ONLY" }),
    inbound,
    `${manager}.forwardClientCertDetails`,
    "FORWARD_ONLY",
  ],
  [
    "what callers say, without TLS too",
    headers({ forwardedClientCert: "ALWAYS_FORWARD_ONLY" }),
    inbound,
    `${manager}.forwardClientCertDetails`,
    "ALWAYS_FORWARD_ONLY",
  ],
  [
    "fields of who called",
    {},
    inbound,
    `${manager}.setCurrentClientCertDetails`,
    "{subject: true, dns: true, uri: true}",
  ],
  [
    "other fields of who called",
    headers({ setCurrentClientCertDetails: { subject: false, cert: true, chain: true, dns: false, uri: false } }),
    inbound,
    `${manager}.setCurrentClientCertDetails`,
    "{subject: false, cert: true, chain: true}",
  ],
  ["nothing of who called on calls of its own", {}, outbound, `${first}.forwardClientCertDetails`, "none"],
  [
    "no headers of Envoy's",
    headers({ envoyDebugHeaders: { disabled: true } }),
    inbound,
    `${manager}.httpFilters.4.typedConfig`,
    "{suppressEnvoyHeaders: true, Router}",
  ],
  [
    "headers of its own ProxyConfig before the mesh's",
    { ...headers({ server: { value: "mesh" } }), ...ownHeaders({ server: { value: "own" } }) },
    inbound,
    `${manager}.serverName`,
    "own",
  ],
  [
    "no headers where its own ProxyConfig takes them away",
    { ...headers({ server: { value: "mesh" } }), metadata: { PROXY_CONFIG: { proxyHeaders: null } } },
    inbound,
    `${manager}.serverName`,
    "istio-envoy",
  ],
  [
    "the readable headers of its own ProxyConfig, where others are of no known form",
    ownHeaders({ server: "none", requestId: { disabled: true } }),
    inbound,
    `${manager}.generateRequestId`,
    "false",
  ],
  [
    "the default in place of a header of no known form",
    { ...headers({ server: { value: "mesh" } }), ...ownHeaders({ server: "none" }) },
    inbound,
    `${manager}.serverName`,
    "istio-envoy",
  ],
  [
    "no headers where those of its own ProxyConfig are no object",
    { ...headers({ server: { value: "mesh" } }), metadata: { PROXY_CONFIG: { proxyHeaders: ["server"] } } },
    inbound,
    `${manager}.serverName`,
    "istio-envoy",
  ],
  ["how often it tried", {}, ["route", "80"], "virtualHosts.0.includeRequestAttemptCount", "true"],
  [
    "not how often it tried",
    headers({ attemptCount: { disabled: true } }),
    ["route", "80"],
    "virtualHosts.0.includeRequestAttemptCount",
    "none",
  ],
  [
    "the host that was asked for",
    headers({ xForwardedHost: { enabled: true } }),
    ["route", "80"],
    "virtualHosts.0.routes.0.route.appendXForwardedHost",
    "none",
  ],
  [
    "metadata to the mesh alone",
    headers({ metadataExchangeHeaders: { mode: "IN_MESH" } }),
    outbound,
    `${first}.httpFilters.0.typedConfig`,
    "{typeUrl: type.googleapis.com/io.istio.http.peer_metadata.Config, value: {upstream_discovery: [{istio_headers: {}}, {workload_discovery: {}}], upstream_propagation: [{istio_headers: {skip_external_clusters: true}}]}, TypedStruct}",
  ],
];

describe("headers of a proxy", () => checkFields(ofHeaders));
