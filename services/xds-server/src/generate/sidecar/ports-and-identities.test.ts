/** Ports that a sidecar cannot listen on, and whom it takes for the servers of a service. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { KubeObject } from "@flotilla/model";
import { type JsonObject, typeUrl } from "@flotilla/proto";
import { aKubeMesh, anEntry, anObject, fieldAt, inShort } from "../../testing/kube-mesh.ts";
import { aSidecar, namesOf, resourceOf } from "../../testing/mesh.ts";

describe("a sidecar without interception", () => {
  const listens = (port: number, metadata: JsonObject, bind = "127.0.0.1") => {
    const egress = [{ port: { number: port, name: "tcp", protocol: "TCP" }, bind, hosts: ["./*"] }];
    const entry = anEntry("a", { ports: [{ number: port, name: "tcp", protocol: "TCP" }] });
    const core = aKubeMesh([entry, anObject("Sidecar", "shop/s", { egress })]);
    const proxy = aSidecar("shop", { INTERCEPTION_MODE: "NONE", ...metadata });
    return namesOf(core, proxy, typeUrl.listener).includes(`${bind}_${port}`);
  };
  const unprivileged = { UNPRIVILEGED_POD: "true" };
  const cases: readonly (readonly [
    name: string,
    port: number,
    metadata: JsonObject,
    bind: string,
    listens: boolean,
  ])[] = [
    ["listens on any port", 80, {}, "127.0.0.1", true],
    ["does not listen below 1024 without the privilege", 1023, unprivileged, "127.0.0.1", false],
    ["listens from 1024 on without the privilege", 1024, unprivileged, "127.0.0.1", true],
    ["leaves its agent's port to it", 15021, { ENVOY_STATUS_PORT: "15021" }, "0.0.0.0", false],
    ["listens at one address on a port of its agent", 15021, { ENVOY_STATUS_PORT: "15021" }, "127.0.0.1", true],
    ["listens on ports that the agent has not", 15022, { ENVOY_STATUS_PORT: "15021" }, "0.0.0.0", true],
  ];
  for (const [name, port, metadata, bind, expected] of cases)
    test(name, () => assert.equal(listens(port, metadata, bind), expected));
});

describe("callers of a service take for its servers", () => {
  const names = (endpoints: readonly JsonObject[], more: JsonObject = {}, mesh: JsonObject = {}) => {
    const entry = anEntry("a", { endpoints: [...endpoints], ...more });
    const core = aKubeMesh([entry], { mesh });
    const cluster = resourceOf(core, aSidecar("shop"), typeUrl.cluster, "outbound|80||a.shop.example");
    const text = JSON.stringify(fieldAt(cluster, "transportSocketMatches") ?? "");
    return [...text.matchAll(/"(?:exact)":"([^"]*)"/g)].map(([, name]) => name);
  };
  const tls = { "security.istio.io/tlsMode": "istio" };
  const at = (serviceAccount?: string) => ({
    address: "10.0.0.2",
    labels: tls,
    ...(serviceAccount && { serviceAccount }),
  });
  const spiffe = (account: string, domain = "cluster.local") => `spiffe://${domain}/ns/shop/sa/${account}`;

  test("the accounts of its endpoints, each once and in order", () => {
    assert.deepEqual(names([at("b"), at("a"), at("b")]), [spiffe("a"), spiffe("b")]);
  });
  test("no identity by name where an endpoint names no account", () => {
    assert.deepEqual(names([at()]), []);
  });
  test("those whom it declares, too", () => {
    assert.deepEqual(names([at("a")], { subjectAltNames: ["declared.example"] }), ["declared.example", spiffe("a")]);
  });
  test("the same account of an aliased trust domain", () => {
    assert.deepEqual(names([at("a")], {}, { trustDomainAliases: ["old.example"] }), [
      spiffe("a"),
      spiffe("a", "old.example"),
    ]);
  });
});

describe("a subset's policy", () => {
  const cluster = (subset: JsonObject, at: string) => {
    const trafficPolicy = {
      connectionPool: { tcp: { connectTimeout: "3s" } },
      outlierDetection: { consecutive5xxErrors: 3 },
    };
    const subsets = [{ name: "v1", labels: { version: "v1" }, trafficPolicy: subset }];
    const rule = anObject("DestinationRule", "shop/a", { host: "a.shop.example", trafficPolicy, subsets });
    const entry = anEntry("a", { endpoints: [{ address: "10.0.0.2", labels: { version: "v1" } }] });
    const found = resourceOf(
      aKubeMesh([entry, rule]),
      aSidecar("shop"),
      typeUrl.cluster,
      "outbound|80|v1|a.shop.example",
    );
    return inShort(fieldAt(found, at));
  };
  const pool = (connectTimeout: string) => ({ connectionPool: { tcp: { connectTimeout } } });
  const ofPort = (number: number, settings: JsonObject) => ({ portLevelSettings: [{ port: { number }, ...settings }] });
  const cases: readonly (readonly [name: string, subset: JsonObject, connectTimeout: string, errors: string])[] = [
    ["is the rule's without one of its own", {}, "3s", "3"],
    ["goes before the rule's", pool("5s"), "5s", "3"],
    ["for the port leaves nothing of the rule's", ofPort(80, pool("7s")), "7s", "none"],
    ["for another port leaves the rule's", ofPort(81, pool("7s")), "3s", "3"],
  ];
  for (const [name, subset, connectTimeout, errors] of cases)
    test(name, () => {
      assert.equal(cluster(subset, "connectTimeout"), connectTimeout);
      assert.equal(cluster(subset, "outlierDetection.consecutive5xx"), errors);
    });
});

describe("a cluster", () => {
  const service = anObject("Service", "shop/web", {
    spec: { clusterIP: "10.96.0.1", ports: [{ name: "http", port: 80 }] },
  });
  const dns = (resolution: string) => anEntry("a", { resolution, endpoints: [], location: "MESH_EXTERNAL" });
  const field = (objects: readonly KubeObject[], name: string, at: string) =>
    inShort(fieldAt(resourceOf(aKubeMesh(objects), aSidecar("shop"), typeUrl.cluster, name), at));
  const entryName = "outbound|80||a.shop.example";

  test("names a Service by its name, and a ServiceEntry by its host", () => {
    const at = "metadata.filterMetadata.istio.services.0.name";
    assert.equal(field([service], "outbound|80||web.shop.svc.cluster.local", at), "web");
    assert.equal(field([anEntry("a")], entryName, at), "a.shop.example");
  });
  test("of a host name asks DNS for all its addresses, or for one at a time", () => {
    assert.equal(field([dns("DNS")], entryName, "type"), "STRICT_DNS");
    assert.equal(field([dns("DNS_ROUND_ROBIN")], entryName, "type"), "LOGICAL_DNS");
  });
});
