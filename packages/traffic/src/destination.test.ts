/** Clusters and endpoints of a call: which may be reached, how they are talked to, and what arrives there. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@flotilla/proto";
import { arrivalAt, resolveHost, trustDomainOf } from "./arrival.ts";
import { fullCall } from "./call.ts";
import { pathToCluster } from "./destination.ts";

const call = fullCall({ Port: 80, Address: "10.1.0.1", Protocol: "http", HostHeader: "api" });
const endpoint = (address: string, more: JsonObject = {}): JsonObject => ({
  endpoint: { address: { socketAddress: { address, portValue: 8080 } } },
  ...more,
});
const tlsContext = (secret: string) => ({
  typedConfig: {
    commonTlsContext: {
      tlsCertificateSdsSecretConfigs: [{ name: secret }],
      combinedValidationContext: {
        defaultValidationContext: { matchSubjectAltNames: [{ exact: "spiffe://td/ns/shop/sa/api" }] },
      },
    },
  },
});
const way = (cluster: JsonObject | undefined, groups: readonly JsonObject[] = [], protocol = call.Protocol) =>
  pathToCluster(
    { clusters: () => cluster, endpoints: (name) => (name === "service" ? { endpoints: [...groups] } : undefined) },
    "c",
    { ...call, Protocol: protocol },
  );
const eds: JsonObject = { name: "c", type: "EDS", edsClusterConfig: { serviceName: "service" } };

describe("a destination", () => {
  const cases: readonly { readonly name: string; readonly groups: readonly JsonObject[]; readonly want: string }[] = [
    { name: "without endpoints", groups: [], want: "503: c has no endpoints." },
    {
      name: "without a healthy one",
      groups: [
        { lbEndpoints: [endpoint("a", { healthStatus: "UNHEALTHY" }), endpoint("b", { healthStatus: "DRAINING" })] },
      ],
      want: "503: c has no healthy endpoint.",
    },
    {
      name: "with one",
      groups: [{ lbEndpoints: [endpoint("10.0.0.1")] }],
      want: "It goes to 10.0.0.1:8080 by plain text.",
    },
    {
      name: "with those of the best priority that is healthy",
      groups: [
        { lbEndpoints: [endpoint("10.0.0.1", { healthStatus: "UNHEALTHY" })] },
        { priority: 1, lbEndpoints: [endpoint("10.0.0.2"), endpoint("10.0.0.3", { healthStatus: "DEGRADED" })] },
        { priority: 2, lbEndpoints: [endpoint("10.0.0.4")] },
      ],
      want: "It goes to one of 2 endpoints by plain text.",
    },
  ];
  for (const { name, groups, want } of cases) it(name, () => assert.equal(way(eds, groups).end.reason, want));

  it("is missing: 503 for a request, an end of the connection for bytes", () => {
    assert.deepEqual([way(undefined).end.kind, way(undefined).end.status], ["refused", 503]);
    assert.equal(way(undefined, [], "tcp").end.kind, "closed");
  });

  it("shows the time to connect where the cluster has one", () => {
    const factsOf = (more: JsonObject) => way({ ...eds, ...more }).hops.flatMap(({ facts }) => facts);
    assert.ok(factsOf({ connectTimeout: "2s" }).includes("Connects within 2s."));
    assert.ok(!factsOf({}).some((fact) => fact.startsWith("Connects")));
  });

  it("shows places, weights, workloads and IPv6 addresses", () => {
    const istio = { filterMetadata: { istio: { workload: "api;shop;api;v1;c" } } };
    const groups = [
      {
        locality: { region: "eu", zone: "a" },
        lbEndpoints: [endpoint("fd00::1", { loadBalancingWeight: 3, metadata: istio })],
      },
    ];
    assert.deepEqual(way(eds, groups).endpoints, [
      {
        ...{ address: "[fd00::1]:8080", priority: 0, locality: "eu/a", weight: 3, isHealthy: true },
        ...{ workload: "api;shop", transport: "plain text", identities: [] },
      },
    ]);
  });

  it("is talked to by the first socket whose metadata the endpoint has", () => {
    const cluster = {
      ...eds,
      transportSocketMatches: [
        { match: { tlsMode: "istio" }, transportSocket: tlsContext("default") },
        { match: {}, transportSocket: {} },
      ],
    };
    const metadata = { filterMetadata: { "envoy.transport_socket_match": { tlsMode: "istio" } } };
    const groups = [{ lbEndpoints: [endpoint("10.0.0.1", { metadata }), endpoint("10.0.0.2")] }];
    assert.deepEqual(
      way(cluster, groups).endpoints.map(({ transport }) => transport),
      ["mutual TLS", "plain text"],
    );
    const other = way({ ...eds, transportSocket: tlsContext("file-cert") }, [{ lbEndpoints: [endpoint("10.0.0.1")] }]);
    assert.equal(other.endpoints[0]?.transport, "TLS");
  });

  it("is where the call was going, or the application", () => {
    const passthrough = way({ name: "PassthroughCluster", type: "ORIGINAL_DST" });
    assert.equal(passthrough.end.reason, "It goes to 10.1.0.1:80, where it was going.");
    const inbound = way({ name: "inbound|80||", type: "ORIGINAL_DST" });
    assert.deepEqual([inbound.end.reason, inbound.endpoints], ["It goes to the application on port 80.", []]);
  });
});

describe("a call at the next proxy", () => {
  const { endpoints, hops, end } = way({ ...eds, transportSocket: tlsContext("default") }, [
    { lbEndpoints: [endpoint("10.0.0.1")] },
  ]);
  const [first] = endpoints;
  const request = { HostHeader: "inner", Path: "/x", Headers: {} };
  const destination = { cluster: "outbound|80|v1|api.shop", share: 100, isHttp: true, request, endpoints, hops, end };
  const sender = { call, identity: "spiffe://td/ns/a/sa/b", address: "10.9.9.9", mode: "inbound" } as const;
  assert.ok(first);

  it("comes by mutual TLS with the caller's identity, the rewritten request and the name of the cluster", () => {
    const arrival = arrivalAt(first, destination, sender);
    const { Address, Port, TLS, Protocol, Sni, HostHeader, Path, CallMode } = arrival?.call ?? { Port: 0 };
    assert.deepEqual(
      [Address, Port, TLS, Protocol, Sni, HostHeader, Path, CallMode],
      ["10.0.0.1", 8080, "mtls", "http", "outbound_.80_.v1_.api.shop", "inner", "/x", "inbound"],
    );
    assert.deepEqual([arrival?.peer, arrival?.sourceIp], ["spiffe://td/ns/a/sa/b", "10.9.9.9"]);
  });

  it("has no identity in plain text", () => {
    const arrival = arrivalAt({ ...first, transport: "plain text" }, destination, sender);
    assert.deepEqual([arrival?.peer, arrival?.call.TLS], [undefined, "plaintext"]);
  });

  it("keeps the TLS of the workload where bytes are sent on", () => {
    const ownTls = { ...call, TLS: "tls", Sni: "api" } as const;
    const arrival = arrivalAt(
      { ...first, transport: "plain text" },
      { ...destination, isHttp: false },
      { ...sender, call: ownTls },
    );
    assert.deepEqual([arrival?.call.TLS, arrival?.call.Sni, arrival?.call.Protocol], ["tls", "api", "http"]);
    const within = arrivalAt(first, { ...destination, isHttp: false }, { ...sender, call: ownTls });
    assert.deepEqual([within?.call.TLS, within?.call.Protocol], ["mtls", "tcp"]);
  });

  it("is none over HBONE, or at a socket", () => {
    assert.equal(arrivalAt({ ...first, transport: "HBONE" }, destination, sender), undefined);
    assert.equal(arrivalAt({ ...first, address: "/run/app.sock" }, destination, sender), undefined);
  });
});

it("the trust domain is that of the callers which a listener admits", () => {
  const chain = (prefix: string): JsonObject => ({
    transportSocket: {
      typedConfig: {
        commonTlsContext: {
          combinedValidationContext: { defaultValidationContext: { matchSubjectAltNames: [{ prefix }] } },
        },
      },
    },
  });
  assert.equal(trustDomainOf([{ filterChains: [{}, chain("spiffe://td/"), chain("spiffe://old/")] }]), "td");
  assert.equal(trustDomainOf([{ filterChains: [{}] }]), undefined);
});

it("a host is found by its names, short ones in the own namespace", () => {
  const table = {
    table: { "api.shop.svc.cluster.local": { ips: ["10.1.0.1"] }, "ext.example": { ips: ["10.2.0.1"] } },
  };
  const found = ["api", "api.shop", "api.shop.svc", "ext.example", "none"].map((host) =>
    resolveHost(table, "shop", host),
  );
  assert.deepEqual(found, ["10.1.0.1", "10.1.0.1", "10.1.0.1", "10.2.0.1", undefined]);
  assert.equal(resolveHost(table, "other", "api"), undefined);
});
