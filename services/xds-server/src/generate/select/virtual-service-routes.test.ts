import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import { decode } from "@flotilla/proto";
import { VirtualHostSchema } from "@flotilla/proto/envoy/config/route/v3/route_components_pb";
import { virtualServiceName } from "../../snapshot/scope/virtual-service.ts";
import { query } from "../../snapshot/view.ts";
import { aConfig, aMesh, aService, aSidecar } from "../../testing/mesh.ts";
import { encodedVirtualServiceRoutes, routesKey } from "./virtual-service-routes.ts";

const destination = { host: "web.shop.svc.cluster.local" };
const core = aMesh(
  aService("web", "shop"),
  aConfig("VirtualService", "shop", "web", {
    hosts: ["web.shop.svc.cluster.local"],
    gateways: ["mesh", "public"],
    http: [
      { name: "inside", match: [{ gateways: ["mesh"], uri: { prefix: "/in" } }], route: [{ destination }] },
      { name: "outside", match: [{ gateways: ["public"], uri: { prefix: "/out" } }], route: [{ destination }] },
      { name: "both", match: [{ uri: { prefix: "/" } }], route: [{ destination }] },
    ],
  }),
);

/** The names of the routes that a gateway has of the VirtualService. */
function routesOf(gateway: string): readonly string[] {
  const found = query(`routes of ${gateway}`, (view) =>
    view.read(
      encodedVirtualServiceRoutes,
      routesKey(virtualServiceName.write({ namespace: "shop", name: "web" }), 80, gateway),
    ),
  );
  const { ahead, last } = core.read(found, core.subjectOf(aSidecar("shop")));
  return [ahead, last].flatMap((bytes) => decode(VirtualHostSchema, bytes).routes.map(({ name }) => name));
}

const cases = [
  { name: "sidecars have the routes for the mesh", gateway: "mesh", want: ["inside", "both"] },
  { name: "a gateway has the routes that name it", gateway: "shop/public", want: ["outside", "both"] },
  { name: "another gateway has those that name none", gateway: "shop/other", want: ["both"] },
];

describe("routes of a VirtualService by gateway", () => {
  for (const { name, gateway, want } of cases) it(name, () => assert.deepEqual(routesOf(gateway), want));
});

test("a VirtualService that does not exist has no routes", () => {
  const found = query("routes of nothing", (view) =>
    view.read(
      encodedVirtualServiceRoutes,
      routesKey(virtualServiceName.write({ namespace: "shop", name: "nothing" }), 80, "mesh"),
    ),
  );
  const { ahead, last } = core.read(found, core.subjectOf(aSidecar("shop")));
  assert.equal(ahead.length + last.length, 0);
});
