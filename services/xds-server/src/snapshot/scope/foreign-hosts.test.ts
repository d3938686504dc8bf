import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type JsonObject, typeUrl } from "@flotilla/proto";
import { nameSet } from "@flotilla/xds";
import { aConfig, aMesh, aService, aSidecar, resourceOf } from "../../testing/mesh.ts";

const to = { http: [{ route: [{ destination: { host: "a.shop.svc.cluster.local" } }] }] };
const cases: readonly (readonly [name: string, namespace: string, spec: JsonObject, isReported: boolean])[] = [
  ["a service of another namespace", "mallory", {}, true],
  ["one beside hosts of its own", "mallory", { hosts: ["m.mallory.svc.cluster.local", hostOf("shop")] }, true],
  ["for some namespaces", "mallory", { exportTo: ["shop"] }, true],
  ["at gateways too", "mallory", { gateways: ["gw", "mesh"] }, true],
  ["at gateways only", "mallory", { gateways: ["gw"] }, false],
  ["for its own namespace only", "mallory", { exportTo: ["."] }, false],
  ["from the root namespace", "istio-system", {}, false],
  ["a service of its own", "shop", {}, false],
  ["a host that is no service", "mallory", { hosts: ["x.example"] }, false],
];

describe("hosts of another namespace that a VirtualService routes for the mesh", () => {
  for (const [name, namespace, spec, isReported] of cases)
    it(`are ${isReported ? "" : "not "}reported: ${name}`, () => {
      const core = aMesh(
        aService("a", "shop"),
        aService("m", "mallory"),
        aConfig("VirtualService", namespace, "v", { hosts: [hostOf("shop")], ...to, ...spec }),
      );
      for (const caller of ["shop", "mallory"]) {
        const subject = core.subjectOf(aSidecar(caller));
        core.observe(subject, typeUrl.route, nameSet(["80"]), () => undefined);
        resourceOf(core, aSidecar(caller), typeUrl.route, "80");
      }
      const found = core.findings().filter(({ metric }) => metric === "flotilla_foreign_host");
      const message = `routes calls of other namespaces to hosts that are not of its own: ${hostOf("shop")}`;
      const object = `VirtualService/${namespace}/v`;
      assert.deepEqual(found, isReported ? [{ metric: "flotilla_foreign_host", object, message }] : []);
    });
});

function hostOf(namespace: "shop"): string {
  return `a.${namespace}.svc.cluster.local`;
}
