import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fromJson, type JsonValue, toJson } from "@flotilla/proto";
import { RouteConfigurationSchema } from "@flotilla/proto/envoy/config/route/v3/route_pb";
import { aPatch, type PatchJson } from "../../testing/patches.ts";
import { Context } from "./patch.ts";
import { patchRouteConfiguration, routePatches } from "./routes.ts";

const [mesh, gateway] = [Context.SIDECAR_OUTBOUND, Context.GATEWAY];
const ports: ReadonlyMap<number, readonly number[]> = new Map([[8080, [80, 81]]]);

describe("matches of route configurations", () => {
  const cases: readonly (readonly [match: object, name: string, Context, boolean])[] = [
    [{}, "80", mesh, true],
    [{ portNumber: 80 }, "80", mesh, true],
    [{ portNumber: 80 }, "api.shop.svc.cluster.local:80", mesh, false],
    [{ portNumber: 8080 }, "inbound|8080||", Context.SIDECAR_INBOUND, true],
    [{ name: "80", portNumber: 81 }, "80", mesh, false],
    [{ gateway: "ns/gw", portName: "https" }, "80", mesh, true],
    [{ portNumber: 81 }, "http.8080", gateway, true],
    [{ portNumber: 8080 }, "http.8080", gateway, false],
    [{ portNumber: 9090 }, "http.9090", gateway, true],
    [{ portNumber: 443, portName: "app", gateway: "ns/gw" }, "https.443.app.gw.ns", gateway, true],
    [{ gateway: "ns/other" }, "https.443.app.gw.ns", gateway, false],
    [{ gateway: "ns/gw" }, "http.8080", gateway, false],
    [{ portName: "other" }, "https.443.app.gw.ns", gateway, false],
  ];
  for (const [routeConfiguration, name, context, expected] of cases)
    it(`${JSON.stringify(routeConfiguration)} ${expected ? "is" : "is not"} for ${name}`, () => {
      const patches = aPatch({
        applyTo: "ROUTE_CONFIGURATION",
        match: { routeConfiguration },
        patch: { operation: "MERGE", value: {} },
      });
      assert.equal(routePatches(patches, { name, context, serverPorts: ports }).length, expected ? 1 : 0);
    });
});

const host = (name: string, ...routes: readonly string[]) => ({
  name,
  domains: [`${name}.example`],
  routes: routes.map((route) => ({ name: route, directResponse: { status: 200 } })),
});

/** Virtual hosts with the names of their routes. */
function hostsAfter(...patches: readonly PatchJson[]): readonly string[] {
  const before = fromJson(RouteConfigurationSchema, {
    name: "80",
    virtualHosts: [host("a", "1", "2"), host("b", "1")],
  } as unknown as JsonValue);
  const { virtualHosts } = patchRouteConfiguration(before, aPatch(...patches), () => undefined);
  return virtualHosts.map(({ name, routes }) => `${name}:${routes.map((route) => route.name).join(",")}`);
}

const onHost = (applyTo: string, vhost: object, operation: string, value?: object): PatchJson => ({
  applyTo,
  match: { routeConfiguration: { vhost } },
  patch: { operation, ...(value && { value }) },
});

describe("patches of virtual hosts and routes", () => {
  const cases: readonly (readonly [name: string, patch: PatchJson, expected: readonly string[]])[] = [
    ["add a virtual host", onHost("VIRTUAL_HOST", {}, "ADD", host("c", "9")), ["a:1,2", "b:1", "c:9"]],
    ["remove one by name", onHost("VIRTUAL_HOST", { name: "a" }, "REMOVE"), ["b:1"]],
    ["remove one by domain", onHost("VIRTUAL_HOST", { domainName: "b.example" }, "REMOVE"), ["a:1,2"]],
    ["replace one", onHost("VIRTUAL_HOST", { name: "b" }, "REPLACE", host("d", "7")), ["a:1,2", "d:7"]],
    ["merge into one", onHost("VIRTUAL_HOST", { name: "b" }, "MERGE", { routes: [{ name: "3" }] }), ["a:1,2", "b:1,3"]],
    [
      "replace lists of one",
      onHost("VIRTUAL_HOST", { name: "b" }, "MERGE_AND_REPLACE_LIST", { routes: [{ name: "3" }] }),
      ["a:1,2", "b:3"],
    ],
    ["add a route to all", onHost("HTTP_ROUTE", {}, "ADD", { name: "z" }), ["a:1,2,z", "b:1,z"]],
    [
      "insert first where the match finds a route",
      onHost("HTTP_ROUTE", { route: { name: "2" } }, "INSERT_FIRST", { name: "z" }),
      ["a:z,1,2", "b:1"],
    ],
    [
      "insert first in all without a match",
      onHost("HTTP_ROUTE", {}, "INSERT_FIRST", { name: "z" }),
      ["a:z,1,2", "b:z,1"],
    ],
    [
      "insert before one",
      onHost("HTTP_ROUTE", { route: { name: "2" } }, "INSERT_BEFORE", { name: "z" }),
      ["a:1,z,2", "b:1"],
    ],
    [
      "insert after one",
      onHost("HTTP_ROUTE", { route: { name: "1" } }, "INSERT_AFTER", { name: "z" }),
      ["a:1,z,2", "b:1,z"],
    ],
    ["remove by name", onHost("HTTP_ROUTE", { route: { name: "1" } }, "REMOVE"), ["a:2", "b:"]],
    [
      "remove by action",
      onHost("HTTP_ROUTE", { name: "a", route: { action: "DIRECT_RESPONSE" } }, "REMOVE"),
      ["a:", "b:1"],
    ],
    ["leave other actions", onHost("HTTP_ROUTE", { route: { action: "REDIRECT" } }, "REMOVE"), ["a:1,2", "b:1"]],
    ["merge a name into a route", onHost("HTTP_ROUTE", { name: "b" }, "MERGE", { name: "n" }), ["a:1,2", "b:n"]],
  ];
  for (const [name, patch, expected] of cases) it(name, () => assert.deepEqual(hostsAfter(patch), expected));

  it("merge the route configuration first: hosts that it brings are patched too", () => {
    const frame: PatchJson = {
      applyTo: "ROUTE_CONFIGURATION",
      patch: { operation: "MERGE", value: { virtualHosts: [host("c", "1")] } },
    };
    const removal = onHost("HTTP_ROUTE", { name: "c" }, "REMOVE");
    assert.deepEqual(hostsAfter(removal, frame), ["a:1,2", "b:1", "c:"]);
  });

  it("do not change the value of a patch", () => {
    const patches = aPatch(
      onHost("VIRTUAL_HOST", {}, "ADD", host("c", "9")),
      onHost("HTTP_ROUTE", {}, "ADD", { name: "z" }),
    );
    const before = JSON.stringify(patches.map(({ value }) => value));
    const whole = fromJson(RouteConfigurationSchema, { name: "80", virtualHosts: [host("a")] } as unknown as JsonValue);
    toJson(
      RouteConfigurationSchema,
      patchRouteConfiguration(whole, patches, () => undefined),
    );
    assert.equal(JSON.stringify(patches.map(({ value }) => value)), before);
  });
});
