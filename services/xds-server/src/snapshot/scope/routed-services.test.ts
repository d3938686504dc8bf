/** Services that a router has clusters of where these are limited: destinations, providers, issuers of tokens and references of EnvoyFilters. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Config } from "@flotilla/model";
import { aConfig, aRouter, aService, put } from "../../testing/mesh.ts";
import { snapshotOf } from "../../testing/snapshot.ts";
import { query } from "../view.ts";
import { routedServices } from "./routed-services.ts";

const asked = query<readonly string[]>("asked-of-test", (view) =>
  routedServices(view)
    .map(({ name }) => name)
    .sort(),
);
const hostOf = (name: string) => `${name}.shop.svc.cluster.local`;

const gateway = aConfig("Gateway", "shop", "g", {
  selector: { app: "gateway" },
  servers: [{ port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["*"] }],
});
const route = aConfig("VirtualService", "shop", "v", {
  ...{ hosts: ["*"], gateways: ["g"], http: [{ route: [{ destination: { host: hostOf("web") } }] }] },
});

function services(configs: readonly Config[], isLimited = true): readonly string[] {
  const all = ["web", "keys", "authz", "named", "other"].map((name) => aService(name, "shop"));
  const changes = put(...all, ...configs);
  return snapshotOf({ changes, proxy: aRouter("shop"), features: { filterGatewayClusterConfig: isLimited } }).read(
    asked,
  );
}

describe("a router has clusters of", () => {
  it("every service, unless they are limited", () => {
    assert.deepEqual(services([gateway, route], false), ["authz", "keys", "named", "other", "web"]);
    assert.deepEqual(services([]), []);
  });
  it("the destinations of its routes", () => assert.deepEqual(services([gateway, route]), ["web"]));
  it("the issuers of tokens", () => {
    const jwtRules = [{ issuer: "i", jwksUri: `http://${hostOf("keys")}/keys` }];
    assert.deepEqual(services([gateway, aConfig("RequestAuthentication", "shop", "j", { jwtRules })]), ["keys"]);
  });
  it("the providers of the mesh, by host or by namespace and host", () => {
    for (const [service, kind] of [
      [hostOf("authz"), "envoyExtAuthzGrpc"],
      [`shop/${hostOf("authz")}`, "envoyExtAuthzGrpc"],
      [hostOf("authz"), "sds"],
    ] as const) {
      const provider = { name: "a", [kind]: { service, port: 9000 } };
      const extensionProviders = [provider, { name: "p", prometheus: {} }];
      assert.deepEqual(services([aConfig("MeshConfig", "istio-system", "istio", { extensionProviders })]), ["authz"]);
    }
  });
  it("the services that EnvoyFilters refer to", () => {
    const filter = aConfig("EnvoyFilter", "shop", "f", {});
    const annotations = { "envoyfilter.istio.io/referenced-services": `${hostOf("named")},shop/${hostOf("other")}` };
    assert.deepEqual(services([{ ...filter, annotations }]), ["named", "other"]);
    assert.deepEqual(services([filter]), []);
  });
});
