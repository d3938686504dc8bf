import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { applyMeshConfig, defaultMeshConfig, type JsonObject } from "@flotilla/model";
import { problemText } from "../problem.ts";
import { validateMeshConfig } from "./mesh-config.ts";
import { validateMeshNetworks } from "./mesh-networks.ts";

const provider = (settings: JsonObject) => ({ extensionProviders: [{ name: "a", ...settings }] });
const proxies = (defaultConfig: JsonObject) => ({ defaultConfig });
const connections = (connectionSettings: JsonObject) => proxies({ connectionSettings });

const rules: readonly (readonly [rule: string, good: JsonObject, bad: JsonObject, ...found: readonly RegExp[]])[] = [
  ["ports are ports", { proxyListenPort: 15_001 }, { proxyListenPort: 0 }, /^proxyListenPort: 0 is no port/],
  [
    "connecting takes an hour at most",
    { connectTimeout: "1s" },
    { connectTimeout: "2h" },
    /^connectTimeout: 2h is more than an hour/,
  ],
  [
    "detection may be off",
    { protocolDetectionTimeout: "0s" },
    { protocolDetectionTimeout: "fast" },
    /protocolDetectionTimeout: "fast"/,
  ],
  [
    "trust domains are names",
    { trustDomainAliases: ["old.local"] },
    { trustDomain: "a b" },
    /^trustDomain: "a b" is no trust domain/,
  ],
  [
    "trust domains may end in a dot, which is not all of them",
    { trustDomain: "cluster.local." },
    { trustDomain: "cluster.local.." },
    /^trustDomain: "cluster\.local\.\." is no trust domain/,
  ],
  [
    "hosts of services are hosts",
    { serviceSettings: [{ hosts: ["*.a"] }] },
    { serviceSettings: [{ hosts: ["a b"] }] },
    /serviceSettings\[0\]\.hosts\[0\]/,
  ],
  [
    "curves are known",
    { tlsDefaults: { ecdhCurves: ["P-256"] } },
    { tlsDefaults: { ecdhCurves: ["P-1"] } },
    /ecdhCurves\[0\]: "P-1" is no curve/,
  ],
  [
    "curves are for gateways",
    { meshMTLS: {} },
    { meshMTLS: { ecdhCurves: ["P-256"] } },
    /meshMTLS\.ecdhCurves: is not supported/,
  ],
  [
    "policies are checked as rules' are",
    { defaultTrafficPolicy: { outlierDetection: {} } },
    { defaultTrafficPolicy: { outlierDetection: { maxEjectionPercent: 101 } } },
    /defaultTrafficPolicy\.outlierDetection\.maxEjectionPercent/,
  ],
  [
    "retries of incoming requests have a count",
    { defaultInboundHttpRetryPolicy: { attempts: 2 } },
    { defaultInboundHttpRetryPolicy: { attempts: 0, backoff: "1s" } },
    /backoff: must not be set/,
  ],
  [
    "incoming requests have one endpoint",
    { defaultInboundHttpRetryPolicy: { attempts: 2 } },
    { defaultInboundHttpRetryPolicy: { attempts: 2, perTryTimeout: "1s" } },
    /perTryTimeout: has no effect/,
  ],
  [
    "regions fail over to others",
    { localityLbSetting: { failover: [{ from: "a", to: "b" }] } },
    { localityLbSetting: { failover: [{ from: "a", to: "a" }] } },
    /failover\[0\]: from and to/,
  ],
  [
    "providers have names",
    provider({ prometheus: {} }),
    { extensionProviders: [{ prometheus: {} }] },
    /name: must not be empty/,
  ],
  ["providers are of one kind", provider({ prometheus: {} }), provider({}), /needs exactly one kind/],
  [
    "providers have services",
    provider({ zipkin: { service: "ns/z.example", port: 9411 } }),
    provider({ zipkin: { service: "a b" } }),
    /service: "a b" is neither/,
    /port: 0 is no port/,
  ],
  [
    "prefixes are paths",
    provider({ envoyExtAuthzHttp: { service: "a.example", port: 80, pathPrefix: "/a", statusOnError: "403" } }),
    provider({ envoyExtAuthzHttp: { service: "a.example", port: 80, pathPrefix: "a", statusOnError: "9" } }),
    /statusOnError: "9"/,
    /pathPrefix: must begin with/,
  ],
  [
    "collectors speak one protocol",
    provider({ opentelemetry: { service: "a.example", port: 80, http: {} } }),
    provider({ opentelemetry: { service: "a.example", port: 80, http: {}, grpc: {} } }),
    /http: must not be set beside grpc/,
  ],
  [
    "proxies find their control plane",
    proxies({ discoveryAddress: "[fd00::1]:15012" }),
    proxies({ discoveryAddress: "istiod" }),
    /defaultConfig\.discoveryAddress: "istiod" is not of the form HOST:PORT/,
  ],
  ["paths are set", proxies({ configPath: "/a" }), proxies({ configPath: "" }), /configPath: must not be empty/],
  [
    "proxies drain whole seconds",
    proxies({ drainDuration: "5s" }),
    proxies({ drainDuration: "1500ms" }),
    /drainDuration: counts whole seconds/,
  ],
  [
    "collectors have addresses",
    proxies({ tracing: { zipkin: { address: "$(HOST_IP):9411" } } }),
    proxies({ tracing: { lightstep: { address: "a.example:0" } } }),
    /lightstep\.address: /,
    /accessToken: is required/,
  ],
  [
    "accelerators poll",
    proxies({ privateKeyProvider: { qat: { pollDelay: "2ms" } } }),
    proxies({ privateKeyProvider: { cryptomb: {} } }),
    /pollDelay: must be set/,
  ],
  [
    "windows have a size",
    connections({ http2InitialStreamWindowSize: 65_535 }),
    connections({ http2InitialStreamWindowSize: 1, httpIdleTimeout: "-1s", listenerConnectionLimit: 0 }),
    /httpIdleTimeout: /,
    /listenerConnectionLimit: must be more than 0/,
    /WindowSize: must be at least 65535/,
  ],
];

describe("validateMeshConfig", () => {
  const findings = (document: JsonObject) =>
    validateMeshConfig(applyMeshConfig(defaultMeshConfig, document)).map(problemText);
  for (const [rule, good, bad, ...found] of rules)
    it(rule, () => {
      assert.deepEqual(findings(good), []);
      const broken = findings(bad);
      assert.equal(broken.length, found.length, broken.join("\n"));
      for (const [index, pattern] of found.entries()) assert.match(broken[index] ?? "", pattern);
    });

  it("leaves the mesh in force where a provider is wrong", () => {
    const [problem] = validateMeshConfig(applyMeshConfig(defaultMeshConfig, provider({})));
    assert.equal(problem?.severity, "warning");
  });
});

describe("validateMeshNetworks", () => {
  it("takes ranges, registries and gateways", () => {
    const endpoints = [{ fromCidr: "10.0.0.0/8" }, { fromRegistry: "Kubernetes" }];
    const gateways = [
      { registryServiceName: "gw.ns.svc", port: 80 },
      { address: "10.0.0.1", port: 443 },
    ];
    assert.deepEqual(validateMeshNetworks({ networks: { n: { endpoints, gateways } } }), []);
  });

  it("refuses what is none", () => {
    const endpoints = [{ fromCidr: "10.0.0.0/99" }, { fromRegistry: "a b" }];
    const gateways = [{ registryServiceName: "a b" }, { address: "a b", port: 443 }];
    const found = validateMeshNetworks({ networks: { n: { endpoints, gateways } } }).map(({ field }) => field);
    const at = (rest: string) => `networks[n].${rest}`;
    assert.deepEqual(found, [
      at("endpoints[0].fromCidr"),
      at("endpoints[1].fromRegistry"),
      at("gateways[0].registryServiceName"),
      at("gateways[0].port"),
      at("gateways[1].address"),
    ]);
  });
});
