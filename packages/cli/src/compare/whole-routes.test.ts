/** Routes by scopes in the form in which istiod sends them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type JsonObject, typeUrl } from "@flotilla/proto";
import type { Capture } from "./own-side.ts";
import { withWholeRoutes } from "./whole-routes.ts";

const capture = (types: Readonly<Record<string, Readonly<Record<string, JsonObject>>>>): Capture =>
  new Map(Object.entries(types).map(([type, byName]) => [type, new Map(Object.entries(byName))]));
const plain = (found: Capture) =>
  Object.fromEntries([...found].map(([type, byName]) => [type, Object.fromEntries(byName)]));

const scope = (name: string, hosts: readonly string[]): JsonObject => ({
  routeConfiguration: {
    ...{ name, validateClusters: false, typedPerFilterConfig: { "envoy.filters.http.lua": {} } },
    virtualHosts: hosts.map((host) => ({ name: host, domains: [host] })),
  },
});
const host = (name: string) => ({ name, domains: [name] });
const configSource = { ads: {}, resourceApiVersion: "V3" };
const lowerCase = { name: "flotilla.lower_case_host" };

describe("routes by scopes", () => {
  it("are left alone where a proxy has none", () => {
    const given = capture({ lds: { a: { httpFilters: [lowerCase] } }, rds: { 80: { name: "80" } } });
    assert.equal(withWholeRoutes(given), given);
  });

  it("become one route configuration of each name, with each virtual host once and in order", () => {
    const scopes = {
      ...{ 1: scope("80", ["b:80", "a:80"]), 2: scope("443", ["a:443"]), 3: scope("80", ["b:80", "B:80"]) },
    };
    const { rds, ...others } = plain(withWholeRoutes(capture({ srds: scopes, rds: { own: { name: "own" } } })));
    assert.deepEqual(rds, {
      own: { name: "own" },
      80: {
        ...{ "@type": typeUrl.route, name: "80", validateClusters: false },
        virtualHosts: ["B:80", "a:80", "b:80"].map(host),
      },
      443: { "@type": typeUrl.route, name: "443", validateClusters: false, virtualHosts: [host("a:443")] },
    });
    assert.deepEqual(others, { lds: {} });
  });

  it("are named by the listener, which needs no filter for hosts in capital letters then", () => {
    const filter = (routes: JsonObject, ...filters: readonly JsonObject[]) => ({
      filterChains: [{ filters: [{ typedConfig: { ...routes, httpFilters: [...filters] } }] }],
    });
    const router = { name: "router" };
    const scoped = { scopedRoutes: { name: "80", rdsConfigSource: configSource, scopeKeyBuilder: {} } };
    const listeners = {
      http: filter(scoped, lowerCase, router),
      bare: filter({ scopedRoutes: {} }, router),
      // Without scopes the filter is somebody's own.
      named: filter({ rds: { routeConfigName: "81" } }, lowerCase, router),
    };
    const { lds } = plain(withWholeRoutes(capture({ lds: listeners, srds: {} })));
    assert.deepEqual(lds, {
      http: filter({ rds: { configSource, routeConfigName: "80" } }, router),
      bare: filter({ rds: { configSource: {}, routeConfigName: "" } }, router),
      named: listeners.named,
    });
  });

  it("keep what else a proxy gets", () => {
    const cds = { a: { name: "a" } };
    assert.deepEqual(plain(withWholeRoutes(capture({ cds, srds: { 1: { routeConfiguration: { name: "80" } } } }))), {
      cds,
      lds: {},
      rds: { 80: { "@type": typeUrl.route, name: "80", virtualHosts: [] } },
    });
  });
});
