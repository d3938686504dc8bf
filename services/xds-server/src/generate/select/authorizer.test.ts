/** Providers of CUSTOM policies that requests are not sent to, as istiod finds them faulty. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@flotilla/proto";
import { query } from "../../snapshot/view.ts";
import { aConfig, aService, aSidecar, put } from "../../testing/mesh.ts";
import { snapshotOf } from "../../testing/snapshot.ts";
import { authorizer } from "./authorizer.ts";

const service = { service: "guard.shop.svc.cluster.local", port: 80 };
const http = (name: string, settings: JsonObject = {}) => ({ name, envoyExtAuthzHttp: { ...service, ...settings } });

function isAsked(name: string, extensionProviders: readonly JsonObject[]): boolean {
  const mesh = aConfig("MeshConfig", "istio-system", "istio", { extensionProviders: [...extensionProviders] });
  const asked = query<boolean>(`asks ${name}`, (view) => authorizer(view, name) !== undefined);
  const twins = ["shop", "depot"].map((home) => aService("twin", home, { hostname: "twin.example" }));
  return snapshotOf({ changes: put(mesh, aService("guard", "shop"), ...twins), proxy: aSidecar("shop") }).read(asked);
}

const cases: readonly (readonly [name: string, providers: readonly JsonObject[], want: boolean])[] = [
  ["guard", [http("guard")], true],
  ["guard", [http("other")], false],
  ["guard", [http("guard"), http("guard")], false],
  ["a_b", [http("a_b")], false],
  ["guard", [http("guard", { service: "none.shop.svc.cluster.local" })], false],
  ["guard", [http("guard", { service: "twin.example" })], false],
  ["guard", [http("guard", { service: "depot/twin.example" })], true],
  ["guard", [http("guard", { statusOnError: "503" })], true],
  ["guard", [http("guard", { statusOnError: "299" })], false],
  ["guard", [http("guard", { pathPrefix: "check" })], false],
  ["guard", [http("guard", { headersToUpstreamOnAllow: ["x-*"] })], true],
  ["guard", [http("guard", { headersToUpstreamOnAllow: ["*"] })], false],
];

describe("an authorizer", () => {
  for (const [name, providers, want] of cases)
    it(`${want ? "is asked" : "is not asked"}: ${name} of ${JSON.stringify(providers)}`, () =>
      assert.equal(isAsked(name, providers), want));
});
