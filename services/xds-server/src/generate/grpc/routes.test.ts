import assert from "node:assert/strict";
import { test } from "node:test";
import type { Config, Service } from "@flotilla/model";
import { bytesToJson, type JsonObject, typeUrl } from "@flotilla/proto";
import { nameSet } from "@flotilla/xds";
import type { Core } from "../../app/core.ts";
import { aConfig, aMesh, apply, aService, aSidecar } from "../../testing/mesh.ts";

const program = aSidecar("shop", { GENERATOR: "grpc" });

interface Host {
  readonly name: string;
  readonly domains: readonly string[];
  readonly routes: readonly JsonObject[];
}

/** The virtual hosts of a route configuration; undefined when there is no such configuration. */
function virtualHosts(core: Core, name: string): readonly Host[] | undefined {
  const set = core.resources(core.subjectOf(program), typeUrl.route, nameSet([name]));
  const found = set?.byName.get(name);
  if (found === undefined) return undefined;
  const {
    "@type": _,
    name: own,
    virtualHosts: hosts = [],
    ...rest
  } = bytesToJson(typeUrl.route, found.bytes) as JsonObject;
  assert.deepEqual([own, rest], [name, {}]);
  return hosts as unknown as readonly Host[];
}

function hostsOf(values: readonly (Service | Config)[], name: string): readonly string[] | undefined {
  return virtualHosts(aMesh(...values), name)?.map((host) => host.name);
}

const toV2 = (hosts: string[], more: JsonObject = {}) =>
  aConfig("VirtualService", "shop", "vs", {
    hosts,
    http: [{ route: [{ destination: { host: "v2.example" } }], ...more }],
  });

test("each domain stands there with its port, too", () => {
  const [host] = virtualHosts(aMesh(aService("web", "shop")), "outbound|80||web.shop.svc.cluster.local") ?? [];
  assert.equal(host?.name, "web.shop.svc.cluster.local:80");
  assert.deepEqual(host?.domains.slice(0, 6), [
    "web.shop.svc.cluster.local",
    "web.shop.svc.cluster.local:80",
    "web.shop.svc.cluster.local.",
    "web.shop.svc.cluster.local.:80",
    "web",
    "web:80",
  ]);
});

test("a route configuration holds the hosts that its name leads to, and no others", () => {
  const services = [aService("web", "shop"), aService("other", "shop"), aService("web", "depot")];
  const own = "web.shop.svc.cluster.local:80";
  assert.deepEqual(hostsOf(services, "outbound|80||web.shop.svc.cluster.local"), [own]);
  assert.deepEqual(hostsOf(services, "outbound|80||web"), [own]);
  assert.deepEqual(hostsOf(services, "outbound|80||WEB.shop.svc.cluster.local"), [own]);
  assert.deepEqual(hostsOf(services, "outbound_.80_._.web.shop.svc.cluster.local"), [own]);
  assert.deepEqual(hostsOf(services, "outbound|80||nobody.example"), []);
  assert.deepEqual(hostsOf(services, "outbound|81||web.shop.svc.cluster.local"), []);
});

test("hosts of VirtualServices that cover the name by wildcard are held beside its own", () => {
  const values = [aService("web", "shop"), aConfig("VirtualService", "shop", "a", vs(["*.other.example"]))];
  const covering = [...values, aConfig("VirtualService", "shop", "b", vs(["*.example"]))];
  assert.deepEqual(hostsOf(covering, "outbound|80||web.other.example"), ["*.example:80", "*.other.example:80"]);
  assert.deepEqual(hostsOf(covering, "outbound|80||web.shop.svc.cluster.local"), ["web.shop.svc.cluster.local:80"]);
});

function vs(hosts: string[]): JsonObject {
  return { hosts, http: [{ route: [{ destination: { host: "v2.example" } }] }] };
}

test("a name without host and port has no route configuration", () => {
  for (const name of ["80", "http_proxy", "outbound|0||web", "outbound|80||"])
    assert.equal(hostsOf([aService("web", "shop")], name), undefined, name);
});

test("a route's time limit is the one that gRPC reads", () => {
  const core = aMesh(aService("web", "shop"), toV2(["web"], { timeout: "3s" }));
  const [host] = virtualHosts(core, "outbound|80||web.shop.svc.cluster.local") ?? [];
  const { timeout, maxStreamDuration, maxGrpcTimeout } = (host?.routes[0]?.["route"] ?? {}) as JsonObject;
  assert.deepEqual([timeout, maxStreamDuration, maxGrpcTimeout], ["3s", { maxStreamDuration: "3s" }, undefined]);
});

test("the same VirtualService bounds calls of a sidecar by the field that Envoy reads", () => {
  const core = aMesh(aService("web", "shop"), toV2(["web"], { timeout: "3s" }));
  const set = core.resources(core.subjectOf(aSidecar("shop")), typeUrl.route, nameSet(["80"]));
  const text = JSON.stringify(bytesToJson(typeUrl.route, set?.byName.get("80")?.bytes ?? new Uint8Array()));
  assert.match(text, /"maxGrpcTimeout":"3s"/);
  assert.doesNotMatch(text, /maxStreamDuration/);
});

test("an edit of one service's routes leaves the configurations of the others as they are", () => {
  const services = ["a", "b"].map((name) => aService(name, "shop"));
  const core = aMesh(...services);
  const name = (host: string) => `outbound|80||${host}.shop.svc.cluster.local`;
  const read = (host: string) =>
    core.resources(core.subjectOf(program), typeUrl.route, nameSet([name(host)]))?.byName.get(name(host));
  const before = { a: read("a"), b: read("b") };
  apply(core, toV2(["a"]));
  assert.notEqual(read("a")?.version, before.a?.version);
  assert.equal(read("b"), before.b);
});
