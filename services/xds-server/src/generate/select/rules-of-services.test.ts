/** Selection of a service's DestinationRule for a caller, and how its hash spreads the routes' requests. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type JsonObject, typeUrl } from "@flotilla/proto";
import { aKubeMesh, anEntry, anObject, fieldAt, inShort } from "../../testing/kube-mesh.ts";
import { aSidecar, resourceOf } from "../../testing/mesh.ts";

const host = "a.shop.example";

describe("requests to a service are spread", () => {
  const hashPolicy = (trafficPolicy: JsonObject) => {
    const rule = anObject("DestinationRule", "shop/a", { host, trafficPolicy });
    const routes = resourceOf(aKubeMesh([anEntry("a"), rule]), aSidecar("shop"), typeUrl.route, "80");
    return inShort(fieldAt(routes, "virtualHosts.0.routes.0.route.hashPolicy"));
  };
  const by = (consistentHash: JsonObject) => ({ loadBalancer: { consistentHash } });
  const onPort = (number: number, policy: JsonObject) => ({ portLevelSettings: [{ port: { number }, ...policy }] });
  const [user, team] = [by({ httpHeaderName: "x-user" }), by({ httpHeaderName: "x-team" })];
  const cases: readonly (readonly [name: string, policy: JsonObject, is: string])[] = [
    ["by nothing of theirs", {}, "none"],
    ["by a header", user, "[{header: {headerName: x-user}}]"],
    ["by a parameter", by({ httpQueryParameterName: "q" }), "[{queryParameter: {name: q}}]"],
    ["by the caller's address", by({ useSourceIp: true }), "[{connectionProperties: {sourceIp: true}}]"],
    ["by a cookie", by({ httpCookie: { name: "c", ttl: "5s" } }), "[{cookie: {name: c, ttl: 5s}}]"],
    ["by what the port has", { ...user, ...onPort(80, team) }, "[{header: {headerName: x-team}}]"],
    ["not by what another port has", { ...user, ...onPort(81, team) }, "[{header: {headerName: x-user}}]"],
  ];
  for (const [name, policy, is] of cases) test(name, () => assert.equal(hashPolicy(policy), is));

  test("not by what holds for a destination without weight", () => {
    const of = (name: string, weight: number) => ({ destination: { host: `${name}.shop.example` }, weight });
    const route = [of("b", 40), of("c", 60), of("a", 0)];
    const virtual = anObject("VirtualService", "shop/b", { hosts: ["b.shop.example"], http: [{ route }] });
    const rule = anObject("DestinationRule", "shop/a", { host, trafficPolicy: user });
    const mesh = aKubeMesh([anEntry("a"), anEntry("b"), anEntry("c"), virtual, rule]);
    const routes = resourceOf(mesh, aSidecar("shop"), typeUrl.route, "80");
    const virtualHosts = fieldAt(routes, "virtualHosts") as readonly JsonObject[];
    const split = virtualHosts.find(({ name }) => name === "b.shop.example:80");
    assert.equal(inShort(fieldAt(split, "routes.0.route.hashPolicy")), "none");
    assert.equal((fieldAt(split, "routes.0.route.weightedClusters.clusters") as readonly unknown[]).length, 2);
  });
});

describe("a rule of the root namespace", () => {
  const isInForce = (exportTo: readonly string[], meshDefault: readonly string[]) => {
    const trafficPolicy = { connectionPool: { tcp: { connectTimeout: "3s" } } };
    const rule = anObject("DestinationRule", "istio-system/a", { host, trafficPolicy, exportTo: [...exportTo] });
    const mesh = { defaultDestinationRuleExportTo: [...meshDefault] };
    const cluster = resourceOf(
      aKubeMesh([anEntry("a"), rule], { mesh }),
      aSidecar("shop"),
      typeUrl.cluster,
      `outbound|80||${host}`,
    );
    return fieldAt(cluster, "connectTimeout") === "3s";
  };
  const cases: readonly (readonly [
    name: string,
    exportTo: readonly string[],
    meshDefault: readonly string[],
    is: boolean,
  ])[] = [
    ["is everybody's", [], [], true],
    ["is everybody's by its own word", ["*"], ["."], true],
    ["is its own namespace's by the mesh's default", [], ["."], false],
    ["is its own namespace's by its own word", ["."], ["*"], false],
    ["is that of the namespaces that it names", ["shop"], [], true],
    ["is not that of others than it names", ["bank"], [], false],
  ];
  for (const [name, exportTo, meshDefault, is] of cases)
    test(name, () => assert.equal(isInForce(exportTo, meshDefault), is));
});
