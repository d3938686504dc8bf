import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Config } from "@flotilla/model";
import { typeUrl } from "@flotilla/proto";
import { Core } from "../../app/core.ts";
import { aConfig, apply, aRouter, aService, namesOf, resourceOf } from "../../testing/mesh.ts";
import { luaExtension } from "../envoy/filters/lower-case-host.ts";

const router = aRouter("istio-system");

function aScopedMesh(above: number, ...objects: readonly Config[]): Core {
  const core = new Core({ features: { scopedRoutesAbove: above } });
  apply(core, aService("web", "shop"), ...objects);
  return core;
}

const gateway = aConfig("Gateway", "istio-system", "g", {
  servers: [
    { port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["*"] },
    { port: { number: 81, name: "few", protocol: "HTTP" }, hosts: ["a.example"] },
  ],
});

const routes = (name: string, hosts: readonly string[], header = "1") =>
  aConfig("VirtualService", "shop", name, {
    hosts: [...hosts],
    gateways: ["istio-system/g"],
    http: [{ headers: { response: { set: { x: header } } }, route: [{ destination: { host: "web" } }] }],
  });

/** By port, how its listener finds its routes. */
function specifiers(core: Core): readonly string[] {
  return ["0.0.0.0_80", "0.0.0.0_81"].map((name) => {
    const listener = resourceOf(core, router, typeUrl.listener, name);
    return /scopedRoutes|"rds"/.exec(JSON.stringify(listener))?.[0] ?? "none";
  });
}

const two = [routes("one", ["a.example", "B.example"]), routes("other", ["c.example"])];

describe("routes of a router by host", () => {
  it("are of the one large route configuration, a scope for each host", () => {
    const core = aScopedMesh(1, gateway, ...two);
    assert.deepEqual(namesOf(core, router, typeUrl.scopedRoute).toSorted(), [
      "http.80/a.example",
      "http.80/b.example",
      "http.80/c.example",
    ]);
    assert.deepEqual(specifiers(core), ["scopedRoutes", '"rds"']);
    const scope = resourceOf(core, router, typeUrl.scopedRoute, "http.80/c.example");
    const { virtualHosts = [] } = (scope?.["routeConfiguration"] ?? {}) as { virtualHosts?: { domains: string[] }[] };
    assert.deepEqual(scope?.["key"], { fragments: [{ stringKey: "c.example" }] });
    assert.deepEqual(
      virtualHosts.map(({ domains }) => domains),
      [["c.example"]],
    );
  });

  it("are explained by their names", () => {
    const core = aScopedMesh(1, gateway, ...two);
    const inputs = core.explain(core.subjectOf(router), typeUrl.scopedRoute, "http.80/c.example");
    const objects = inputs.flatMap((input) => core.objectsOf(input)).map(({ object }) => object);
    assert.ok(objects.includes("VirtualService/shop/other"), objects.join(" "));
    assert.equal(core.resource(core.subjectOf(router), typeUrl.scopedRoute, "http.80/none.example"), undefined);
  });

  it("change alone", () => {
    const core = aScopedMesh(1, gateway, ...two);
    const versions = () => {
      const found = core.resources(core.subjectOf(router), typeUrl.scopedRoute)?.byName ?? new Map();
      return new Map([...found].map(([name, { version }]) => [name, version]));
    };
    const before = versions();
    apply(core, routes("other", ["c.example"], "2"));
    const after = versions();
    assert.deepEqual(
      [...after].filter(([name, version]) => before.get(name) !== version).map(([name]) => name),
      ["http.80/c.example"],
    );
  });

  it("are sent whole to a proxy without Lua, which finds scopes for hosts in capital letters", () => {
    const core = aScopedMesh(1, gateway, ...two);
    const without = { ...aRouter("istio-system", {}, "10.0.0.8"), extensions: new Set<string>() };
    assert.deepEqual(namesOf(core, without, typeUrl.scopedRoute), []);
    assert.equal(namesOf(core, { ...without, extensions: new Set([luaExtension]) }, typeUrl.scopedRoute).length, 3);
  });

  it("are sent by default where a route configuration has more than 500", () => {
    const all = (count: number) =>
      Array.from({ length: count }, (_, index) => routes(`r${index}`, [`h${index}.example`], String(index)));
    for (const [count, expected] of [
      [500, 0],
      [501, 501],
    ] as const) {
      const core = new Core();
      apply(core, aService("web", "shop"), gateway, ...all(count));
      assert.equal(namesOf(core, router, typeUrl.scopedRoute).length, expected);
    }
  });

  for (const { name, above = 1, more } of [
    { name: "where there are no more hosts than the setting allows", above: 3, more: [] },
    { name: "where none is allowed by the setting", above: 0, more: [] },
    { name: "beside a wildcard, which is no key", more: [routes("wide", ["*.example"])] },
    {
      name: "where virtual hosts have many domains, each of which would repeat them",
      more: [routes("alike", ["d", "e", "f", "g"])],
    },
    {
      name: "under an EnvoyFilter",
      more: [
        aConfig("EnvoyFilter", "istio-system", "f", {
          configPatches: [
            {
              applyTo: "ROUTE_CONFIGURATION",
              match: { context: "GATEWAY" },
              patch: { operation: "MERGE", value: { mostSpecificHeaderMutationsWins: true } },
            },
          ],
        }),
      ],
    },
  ])
    it(`are one message ${name}`, () => {
      const core = aScopedMesh(above, gateway, ...two, ...more);
      assert.deepEqual(namesOf(core, router, typeUrl.scopedRoute), []);
      assert.deepEqual(specifiers(core), ['"rds"', '"rds"']);
    });
});
