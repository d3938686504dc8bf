/** Places of patches, as narrow as what they match, and none of those that add clusters and listeners. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fromJson, type JsonObject } from "@flotilla/proto";
import { EnvoyFilterSchema } from "@flotilla/proto/networking/v1alpha3/envoy_filter_pb";
import { kindOfPlace, patchPlaces, placesOfCluster, placesOfListener, placesOfRoutes } from "./patch-places.ts";

const placesOf = (applyTo: string, match: JsonObject = {}, operation = "MERGE") =>
  patchPlaces(fromJson(EnvoyFilterSchema, { configPatches: [{ applyTo, match, patch: { operation } }] })).join("; ");

const cases: readonly (readonly [applyTo: string, match: JsonObject, places: string])[] = [
  ["CLUSTER", {}, "clusters"],
  ["CLUSTER", { cluster: { name: "c", service: "s" } }, "cluster=c"],
  ["CLUSTER", { cluster: { service: "s", subset: "v1" } }, "clusters of service=s"],
  ["CLUSTER", { cluster: { subset: "v1", portNumber: 80 } }, "clusters of subset=v1"],
  ["CLUSTER", { cluster: { portNumber: 80 } }, "clusters of port=80"],
  ["CLUSTER", { cluster: {} }, "clusters"],
  ["LISTENER", {}, "listeners"],
  ["LISTENER", { listener: { name: "l", portNumber: 80 } }, "listener=l"],
  ["HTTP_FILTER", { listener: { portNumber: 80 } }, "listeners of port=80; listeners of any port"],
  ["NETWORK_FILTER", { listener: {} }, "listeners"],
  ["HTTP_ROUTE", {}, "routes; inline routes"],
  ["VIRTUAL_HOST", { routeConfiguration: { name: "r", portNumber: 80 } }, "routes=r; inline routes"],
  ["ROUTE_CONFIGURATION", { routeConfiguration: { portNumber: 80 } }, "routes of port=80; inline routes"],
  ["ROUTE_CONFIGURATION", { routeConfiguration: {} }, "routes; inline routes"],
  ["EXTENSION_CONFIG", {}, ""],
  ["BOOTSTRAP", {}, ""],
];

describe("a patch stands in", () => {
  for (const [applyTo, match, places] of cases)
    it(`${places || "no place"}: ${applyTo} ${JSON.stringify(match)}`, () =>
      assert.equal(placesOf(applyTo, match), places));
  it("no place where it adds a cluster or a listener", () => {
    assert.deepEqual([placesOf("CLUSTER", {}, "ADD"), placesOf("LISTENER", {}, "ADD")], ["", ""]);
    assert.equal(placesOf("HTTP_FILTER", {}, "ADD"), "listeners");
  });
});

describe("a resource asks", () => {
  it("as a cluster, the places of its name, service, subset and port", () => {
    assert.deepEqual(placesOfCluster("outbound|80|v1|web.shop", []), [
      ...["clusters", "cluster=outbound|80|v1|web.shop", "clusters of service=web.shop"],
      ...["clusters of subset=v1", "clusters of port=80"],
    ]);
    assert.deepEqual(placesOfCluster("inbound|80||", ["a", "b"]).slice(2, 4), [
      ...["clusters of service=a", "clusters of service=b"],
    ]);
    assert.deepEqual(placesOfCluster("other", []).at(-1), "clusters of port=0");
  });
  it("as a listener, the places of its name and port", () => {
    assert.deepEqual(placesOfListener("l", 80, false), ["listeners", "listener=l", "listeners of port=80"]);
    assert.deepEqual(placesOfListener("l", undefined, true), [
      ...["listeners", "listener=l", "listeners of any port", "inline routes"],
    ]);
  });
  it("as routes, the places of their name and ports", () =>
    assert.deepEqual(placesOfRoutes("r", [80, 81]), ["routes", "routes=r", "routes of port=80", "routes of port=81"]));
});

it("the kind of a place is what stands before its value", () => {
  assert.equal(kindOfPlace("cluster=a=b"), "cluster");
  assert.equal(kindOfPlace("listeners"), "listeners");
});
