/** Selection of the endpoint of a cluster for a request: hashing, ejection, locality. */
import assert from "node:assert/strict";
import type { EchoServer } from "@flotilla/dataplane";
import { until } from "@flotilla/runtime";
import type { Client } from "../client.ts";
import type { Feature } from "../feature.ts";
import type { MeshBuilder } from "../mesh-builder.ts";

async function backends(mesh: MeshBuilder, names: readonly string[]): Promise<readonly EchoServer[]> {
  return Promise.all(names.map((name) => mesh.httpBackend(name)));
}

export const hashing: Feature = async (mesh) => {
  const servers = await backends(mesh, ["a", "b", "c"]);
  mesh.service("sticky", servers);
  mesh.rule("sticky", "  trafficPolicy: {loadBalancer: {consistentHash: {httpHeaderName: x-user}}}\n");
  return [
    {
      name: "equal hash headers reach one endpoint, different ones all of them",
      holds: async (client) => {
        const same = await client.versions("sticky", 30, () => ({ headers: { "x-user": "alice" } }));
        assert.equal(Object.keys(same).length, 1, JSON.stringify(same));
        const different = await client.versions("sticky", 120, (i) => ({ headers: { "x-user": `user-${i}` } }));
        assert.deepEqual(Object.keys(different).sort(), ["a", "b", "c"]);
      },
    },
  ];
};

export const roundRobin: Feature = async (mesh) => {
  const servers = await backends(mesh, ["a", "b"]);
  mesh.service("turns", servers);
  mesh.rule("turns", "  trafficPolicy: {loadBalancer: {simple: ROUND_ROBIN}}\n");
  return [
    {
      name: "round robin gives every endpoint the same",
      holds: async (client) => assert.deepEqual(await client.versions("turns", 20), { a: 10, b: 10 }),
    },
  ];
};

const ejection = `    outlierDetection: {consecutive5xxErrors: 3, interval: 1s, baseEjectionTime: 60s, maxEjectionPercent: 100}`;

export const outlierEjection: Feature = async (mesh) => {
  const [good, bad] = await backends(mesh, ["good", "bad"]);
  if (good === undefined || bad === undefined) throw new Error("two back ends were asked for");
  bad.answerAllWith(500);
  mesh.service("ejecting", [good, bad]);
  mesh.rule("ejecting", `  trafficPolicy:\n    loadBalancer: {simple: ROUND_ROBIN}\n${ejection}\n`);
  return [
    {
      name: "an endpoint that keeps failing is ejected",
      holds: async (client) => {
        const first = await client.versions("ejecting", 4);
        assert.equal(first["500"], 2, JSON.stringify(first));
        await until(async () => (await client.versions("ejecting", 10))["good"] === 10, {
          withinMs: 10_000,
          what: "all requests to reach the good endpoint",
        });
        const before = bad.requests();
        assert.deepEqual(await client.versions("ejecting", 40), { good: 40 });
        assert.equal(bad.requests(), before);
      },
    },
  ];
};

/** Clients are in r1/z1. */
export const localityFailover: Feature = async (mesh) => {
  const [near, sameRegion, far] = await backends(mesh, ["near", "same-region", "far"]);
  if (near === undefined || sameRegion === undefined || far === undefined) throw new Error("three were asked for");
  mesh.service("regional", [
    { port: near.port, locality: "r1/z1" },
    { port: sameRegion.port, locality: "r1/z2" },
    { port: far.port, locality: "r2/z1" },
  ]);
  mesh.rule(
    "regional",
    `
  trafficPolicy:
    loadBalancer: {localityLbSetting: {enabled: true, failover: [{from: r1, to: r2}]}}
${ejection}
`,
  );
  const failsOverTo = async (client: Client, name: string) => {
    await until(async () => (await client.versions("regional", 10))[name] === 10, {
      withinMs: 10_000,
      what: `all requests to reach ${name}`,
    });
  };
  return [
    {
      name: "requests stay in the zone, then in the region, and go to the failover region at last",
      holds: async (client) => {
        for (const server of [near, sameRegion]) server.answerAllWith(undefined);
        assert.deepEqual(await client.versions("regional", 20), { near: 20 });
        near.answerAllWith(503);
        await failsOverTo(client, "same-region");
        sameRegion.answerAllWith(503);
        await failsOverTo(client, "far");
      },
    },
  ];
};

export const localityDistribution: Feature = async (mesh) => {
  const [near, far] = await backends(mesh, ["near", "far"]);
  if (near === undefined || far === undefined) throw new Error("two were asked for");
  mesh.service("spread", [
    { port: near.port, locality: "r1/z1" },
    { port: far.port, locality: "r2/z1" },
  ]);
  mesh.rule(
    "spread",
    `
  trafficPolicy:
    loadBalancer: {localityLbSetting: {enabled: true, distribute: [{from: "r1/*", to: {"r1/*": 50, "r2/*": 50}}]}}
${ejection}
`,
  );
  return [
    {
      name: "a distribution sends its share to other regions",
      holds: async (client) => {
        const { near: toNear = 0, far: toFar = 0 } = await client.versions("spread", 100);
        assert.equal(toNear + toFar, 100);
        assert.ok(toNear > 20 && toFar > 20, `${toNear} near, ${toFar} far`);
      },
    },
  ];
};
