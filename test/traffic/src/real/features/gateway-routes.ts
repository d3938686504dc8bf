/** Routes of the Gateway API with a service as parent. */
import assert from "node:assert/strict";
import { until } from "@flotilla/runtime";
import type { Feature } from "../feature.ts";
import { type MeshBuilder, namespace } from "../mesh-builder.ts";

const parentRefs = (name: string) => [{ group: "", kind: "Service", name }];

/** The services of this mesh are ServiceEntries: a backend is named by its host. */
function backendOf(mesh: MeshBuilder, name: string) {
  const host = `${name}.${namespace}.svc.cluster.local`;
  return { group: "networking.istio.io", kind: "Hostname", name: host, port: mesh.ports.http };
}

export const gatewayRoutes: Feature = async (mesh) => {
  const [one, two] = [await mesh.httpBackend("v1"), await mesh.httpBackend("v2")];
  mesh.service("gamma", [{ port: one.port }]);
  mesh.service("gamma-next", [{ port: two.port }]);
  const [stays, next] = [backendOf(mesh, "gamma"), backendOf(mesh, "gamma-next")];
  const prefix = (value: string) => ({ path: { type: "PathPrefix", value } });
  mesh.object("HTTPRoute", "gamma", {
    parentRefs: parentRefs("gamma"),
    rules: [
      { backendRefs: [stays] },
      { matches: [prefix("/next")], backendRefs: [next] },
      { matches: [{ headers: [{ name: "x-user", value: "alice" }] }], backendRefs: [{ ...next, weight: 7 }] },
      {
        matches: [prefix("/old")],
        backendRefs: [next],
        filters: [
          { type: "URLRewrite", urlRewrite: { path: { type: "ReplacePrefixMatch", replacePrefixMatch: "/" } } },
        ],
      },
      { matches: [prefix("/moved")], filters: [{ type: "RequestRedirect", requestRedirect: { hostname: "new" } }] },
      { matches: [prefix("/closed")], backendRefs: [{ ...next, weight: 0 }] },
      { matches: [prefix("/nowhere")], backendRefs: [{ ...next, name: "nowhere.example" }] },
    ],
  });
  mesh.object("GRPCRoute", "gamma-grpc", {
    parentRefs: parentRefs("gamma"),
    rules: [{ matches: [{ method: { service: "e.Echo" } }], backendRefs: [next] }],
  });
  return [
    {
      name: "an HTTPRoute and a GRPCRoute of a service send requests where their most specific rule says",
      holds: async (client) => {
        const version = async (...call: Parameters<typeof client.call>) => (await client.call(...call)).reply?.version;
        assert.equal(await version("gamma"), "v1");
        assert.equal(await version("gamma", "/next"), "v2");
        assert.equal(await version("gamma", "/next/door"), "v2");
        assert.equal(await version("gamma", "/nextdoor"), "v1");
        assert.equal(await version("gamma", "/", { headers: { "x-user": "alice" } }), "v2");
        assert.equal(await version("gamma", "/e.Echo/Say", { method: "POST" }), "v2");
      },
    },
    {
      name: "its filters rewrite and redirect, and backends that get or are nothing answer 500",
      holds: async (client) => {
        assert.equal((await client.call("gamma", "/old/book")).reply?.path, "/book");
        assert.equal((await client.call("gamma", "/old")).reply?.path, "/");
        assert.equal((await client.call("gamma", "/moved")).status, 302);
        assert.equal((await client.call("gamma", "/closed")).status, 500);
        assert.equal((await client.call("gamma", "/nowhere")).status, 500);
      },
    },
  ];
};

export const wrongGatewayRoute: Feature = async (mesh) => {
  const { port } = await mesh.httpBackend("v1");
  mesh.service("gamma-wrong", [{ port }]);
  const matches = [{ path: { type: "RegularExpression", value: "/([" } }];
  mesh.object("HTTPRoute", "gamma-wrong", { parentRefs: parentRefs("gamma-wrong"), rules: [{ matches }] });
  return [
    {
      name: "an HTTPRoute whose expression does not compile is refused with its field",
      holds: async (client, plane) => {
        assert.equal((await client.call("gamma-wrong")).reply?.version, "v1");
        const object = "HTTPRoute/shop/gamma-wrong";
        const { field } = await until(async () => (await plane.problems()).find((one) => one.object === object), {
          withinMs: 5_000,
          what: `the refusal of ${object}`,
        });
        assert.equal(field, "spec.rules[0].matches[0].path.value");
      },
    },
  ];
};
