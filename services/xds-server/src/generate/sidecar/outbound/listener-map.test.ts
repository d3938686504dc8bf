import assert from "node:assert/strict";
import { test } from "node:test";
import { typeUrl } from "@flotilla/proto";
import { aConfig, aMesh, aPort, aService, aSidecar, resourceOf } from "../../../testing/mesh.ts";

/** The cluster of what is no HTTP on a port of two services, the first of them for HTTP. */
function fallback(protocol: string): string | undefined {
  const services = [
    aService("a", "shop", { ports: [aPort("http", 9000, "HTTP")], creationTimeMs: 1 }),
    aService("b", "shop", { ports: [aPort("other", 9000, protocol)], creationTimeMs: 2 }),
  ];
  const text = JSON.stringify(resourceOf(aMesh(...services), aSidecar("shop"), typeUrl.listener, "0.0.0.0_9000"));
  return ["outbound|9000||b.shop.svc.cluster.local", "PassthroughCluster"].find((name) => text.includes(`"${name}"`));
}

test("TCP shares a port with HTTP; protocols in which the server speaks first do not", () => {
  assert.equal(fallback("TCP"), "outbound|9000||b.shop.svc.cluster.local");
  assert.equal(fallback("MYSQL"), "PassthroughCluster");
  assert.equal(fallback("MONGO"), "PassthroughCluster");
});

test("a listener inspects what its ports need: HTTP on redirected connections, server names of TLS", () => {
  const inspectors = (protocol: string) => {
    const service = aService("a", "shop", { ports: [aPort("p", 9000, protocol)], addresses: [] });
    const text = JSON.stringify(resourceOf(aMesh(service), aSidecar("shop"), typeUrl.listener, "0.0.0.0_9000"));
    return ["http_inspector", "tls_inspector"].filter((name) => text.includes(`listener.${name}`));
  };
  assert.deepEqual(inspectors("HTTP"), ["http_inspector"]);
  assert.deepEqual(inspectors("TCP"), []);
  assert.deepEqual(inspectors("TLS"), ["tls_inspector"]);
});

test("an HTTP_PROXY listener of a Sidecar is HTTP alone, any other has a chain for each protocol", () => {
  const services = [
    aService("a", "shop", { ports: [aPort("tcp", 7000, "TCP")], creationTimeMs: 1 }),
    aService("b", "shop", { ports: [aPort("http", 7000, "HTTP")], creationTimeMs: 2 }),
  ];
  const chains = (protocol: string) => {
    const egress = [{ port: { number: 7000, protocol, name: "own" }, bind: "0.0.0.0", hosts: ["*/*"] }];
    const mesh = aMesh(...services, aConfig("Sidecar", "shop", "own", { egress }));
    const listener = resourceOf(mesh, aSidecar("shop"), typeUrl.listener, "0.0.0.0_7000");
    return JSON.stringify(listener).match(/envoy\.filters\.network\.(?:http_connection_manager|tcp_proxy)"/g)?.length;
  };
  assert.deepEqual(["HTTP_PROXY", "HTTP"].map(chains), [1, 2]);
});

test("a listener inspects connections for HTTP where it may receive others, and not where it is called at one address", () => {
  const service = aService("a", "shop", { ports: [aPort("p", 9000, "HTTP")] });
  const inspects = (bind: string) => {
    const egress = [{ port: { number: 9000, protocol: "HTTP", name: "p" }, bind, hosts: ["*/*"] }];
    const mesh = aMesh(service, aConfig("Sidecar", "shop", "own", { egress }));
    const text = JSON.stringify(resourceOf(mesh, aSidecar("shop"), typeUrl.listener, `${bind}_9000`));
    assert.match(text, /http_connection_manager/);
    return text.includes("listener.http_inspector");
  };
  assert.deepEqual(["0.0.0.0", "127.0.0.1"].map(inspects), [true, false]);
});
