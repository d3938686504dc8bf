/** Selection of the back end for a request: matches, subsets, weights, mirrors. */
import assert from "node:assert/strict";
import { binomialBounds } from "@flotilla/cli/testing";
import { until } from "@flotilla/runtime";
import type { Feature } from "../feature.ts";
import type { MeshBuilder } from "../mesh-builder.ts";

const subsets = `
  subsets:
    - {name: v1, labels: {version: v1}}
    - {name: v2, labels: {version: v2}}
`;

/** A service with two versions and a subset for each. */
async function twoVersions(mesh: MeshBuilder, name: string) {
  const [one, two] = [await mesh.httpBackend("v1"), await mesh.httpBackend("v2")];
  mesh.service(name, [
    { port: one.port, labels: { version: "v1" } },
    { port: two.port, labels: { version: "v2" } },
  ]);
  mesh.rule(name, subsets);
  return { one, two };
}

export const subsetRouting: Feature = async (mesh) => {
  await twoVersions(mesh, "reviews");
  mesh.httpRoutes(
    "reviews",
    `
    - match: [{headers: {x-user: {exact: alice}}}]
      route: [{destination: {host: reviews, subset: v2}}]
    - match: [{uri: {prefix: /new/}, method: {exact: POST}}, {queryParams: {beta: {exact: "1"}}}]
      route: [{destination: {host: reviews, subset: v2}}]
    - match: [{uri: {regex: "/v[0-9]+/.*"}}]
      route: [{destination: {host: reviews, subset: v2}}]
    - route: [{destination: {host: reviews, subset: v1}}]
`,
  );
  return [
    {
      name: "headers, paths, methods and query parameters choose the subset",
      holds: async (client) => {
        const version = async (...call: Parameters<typeof client.call>) => (await client.call(...call)).reply?.version;
        assert.equal(await version("reviews"), "v1");
        assert.equal(await version("reviews.shop"), "v1");
        assert.equal(await version("reviews.shop.svc.cluster.local"), "v1");
        assert.equal(await version("reviews", "/", { headers: { "x-user": "alice" } }), "v2");
        assert.equal(await version("reviews", "/", { headers: { "x-user": "bob" } }), "v1");
        assert.equal(await version("reviews", "/new/book", { method: "POST" }), "v2");
        assert.equal(await version("reviews", "/new/book"), "v1");
        assert.equal(await version("reviews", "/?beta=1"), "v2");
        assert.equal(await version("reviews", "/v12/x"), "v2");
      },
    },
  ];
};

export const weights: Feature = async (mesh) => {
  await twoVersions(mesh, "split");
  mesh.httpRoutes(
    "split",
    `
    - route:
        - {destination: {host: split, subset: v1}, weight: 75}
        - {destination: {host: split, subset: v2}, weight: 25}
`,
  );
  return [
    {
      name: "requests are split by weight",
      holds: async (client) => {
        const counts = await client.versions("split", 400);
        const { v1 = 0, v2 = 0 } = counts;
        assert.equal(v1 + v2, 400, JSON.stringify(counts));
        const [low, high] = binomialBounds(400, 0.25);
        assert.ok(v2 >= low && v2 <= high, `v2 answered ${v2}, want ${low}..${high}`);
      },
    },
  ];
};

export const mirrors: Feature = async (mesh) => {
  const { two } = await twoVersions(mesh, "mirrored");
  mesh.httpRoutes(
    "mirrored",
    `
    - route: [{destination: {host: mirrored, subset: v1}}]
      mirrors: [{destination: {host: mirrored, subset: v2}, percentage: {value: 100}}]
`,
  );
  return [
    {
      name: "a mirror gets a copy of every request, its answers go nowhere",
      holds: async (client) => {
        const before = two.requests();
        assert.deepEqual(await client.versions("mirrored", 20), { v1: 20 });
        await until(() => two.requests() - before === 20, { withinMs: 5_000, what: "20 mirrored requests" });
      },
    },
  ];
};
