/** Virtual hosts of a router that are computed in parts are the same as those computed at once, and a change computes a few of them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Config } from "@flotilla/model";
import { typeUrl } from "@flotilla/proto";
import { checkProperty, fc } from "@flotilla/testkit";
import { Core } from "../../../app/core.ts";
import { aConfig, aPort, apply, aRouter, aService, resourceOf } from "../../../testing/mesh.ts";

const router = aRouter("infra", { LABELS: { app: "edge" } });
/** Gets no scopes, so that its route configurations are sent whole. */
const withoutLua = { ...aRouter("infra", { LABELS: { app: "edge" } }, "10.0.0.8"), extensions: new Set<string>() };
const hosts = Array.from({ length: 8 }, (_, index) => `h-${index}.example`);

interface GivenServer {
  readonly number: number;
  readonly hosts: readonly string[];
  readonly redirects: boolean;
}

interface Given {
  readonly servers: readonly GivenServer[];
  readonly services: readonly {
    readonly namespace: string;
    readonly hosts: readonly string[];
    readonly port: number;
  }[];
  readonly merges: boolean;
}

const someHosts = fc.uniqueArray(fc.constantFrom(...hosts), { minLength: 1, maxLength: 4 });
const given: fc.Arbitrary<Given> = fc.record({
  servers: fc.array(
    fc.record({
      number: fc.constantFrom(80, 81),
      hosts: fc.uniqueArray(fc.constantFrom("*", "*.example", "shop/*", "./*", ...hosts), {
        minLength: 1,
        maxLength: 3,
      }),
      redirects: fc.boolean(),
    }),
    { minLength: 1, maxLength: 4 },
  ),
  services: fc.array(
    fc.record({ namespace: fc.constantFrom("shop", "infra"), hosts: someHosts, port: fc.constantFrom(0, 80, 81) }),
    { minLength: 2, maxLength: 12 },
  ),
  merges: fc.boolean(),
});

/** Ports 80 and 81 are one port of the workload: their servers share a route configuration. */
function objectsOf({ servers, services }: Given): readonly Config[] {
  const gateway = aConfig("Gateway", "infra", "g", {
    servers: servers.map(({ number, hosts, redirects }) => ({
      port: { number, name: `http-${number}`, protocol: "HTTP" },
      hosts: [...hosts],
      ...(redirects && { tls: { httpsRedirect: true } }),
    })),
  });
  const routes = services.map(({ namespace, hosts, port }, index) =>
    aConfig("VirtualService", namespace, `vs-${index}`, {
      hosts: [...hosts],
      gateways: ["infra/g"],
      http: [{ ...(port > 0 && { match: [{ port }] }), route: [{ destination: { host: "web" } }] }],
    }),
  );
  return [gateway, ...routes];
}

function routesOf(scopedRoutesAbove: number, input: Given): unknown {
  const core = new Core({ features: { scopedRoutesAbove, mergesEqualRoutes: input.merges } });
  const edge = aService("edge", "infra", {
    ports: [aPort("http-80", 80, "HTTP"), aPort("http-81", 81, "HTTP")],
    labelSelectors: { app: "edge" },
    kubernetes: { type: "LoadBalancer", nodeLocal: false, targetPorts: { 80: "8080", 81: "8080" } } as never,
  });
  apply(core, aService("web", "shop"), edge, ...objectsOf(input));
  return ["http.8080", "http.80", "http.81"].map((name) => resourceOf(core, withoutLua, typeUrl.route, name));
}

describe("hosts of a router in parts", () => {
  it("are the virtual hosts that all hosts at once would be", () => {
    let routed = 0;
    checkProperty(
      given,
      (input) => {
        const whole = routesOf(0, input);
        if (JSON.stringify(whole).includes("vs-")) routed++;
        assert.deepEqual(routesOf(1, input), whole);
      },
      { runs: 60 },
    );
    assert.ok(routed > 10, `${routed} of the meshes had routes`);
  });

  const aRoute = (name: string) =>
    aConfig("HTTPRoute", "infra", name, {
      parentRefs: [{ name: "edge" }],
      hostnames: [`${name}.example`],
      rules: [{ backendRefs: [{ name: "web", port: 80 }] }],
    });
  const edge = aConfig("KubernetesGateway", "infra", "edge", {
    gatewayClassName: "istio",
    listeners: [{ name: "http", port: 80, protocol: "HTTP" }],
  });
  const deployed = aService("edge-istio", "infra", {
    ports: [aPort("http", 80, "HTTP")],
    labelSelectors: { app: "edge" },
  });

  for (const { name, change, host, count } of [
    { name: "a new route", change: aRoute("new"), host: "new", count: 1 },
    { name: "a route that goes", change: undefined, host: "r-1", count: 0 },
  ])
    it(`are computed anew for the part of ${name} alone`, () => {
      const core = new Core();
      const routes = Array.from({ length: 640 }, (_, index) => aRoute(`r-${index}`));
      apply(core, aService("web", "infra"), deployed, edge, ...routes);
      const scopes = core.observe(core.subjectOf(router), typeUrl.scopedRoute, undefined, () => undefined);
      assert.equal(scopes?.value.byName.size, routes.length);
      const before = core.stats().computations;
      if (change !== undefined) apply(core, change);
      else core.apply([{ type: "config", op: "delete", key: aRoute(host).key }]);
      assert.equal(scopes?.again(), true);
      assert.equal(scopes?.value.byName.has(`http.80/${host}.example`) === true ? 1 : 0, count);
      const computed = core.stats().computations - before;
      assert.ok(computed > 0 && computed < routes.length / 8, `${computed} computations`);
    });
});
