/** The VirtualServices of a sidecar that concern connections: those with TCP or TLS routes, and no others. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@flotilla/proto";
import { aConfig, aMesh, aService, aSidecar } from "../../testing/mesh.ts";
import { query } from "../view.ts";
import { proxyEgressListeners } from "./sidecar.ts";
import { layer4VirtualServices } from "./virtual-services.ts";

const route = [{ destination: { host: "db" } }];
const sniHosts = ["db.shop.svc.cluster.local"];
const cases: readonly (readonly [name: string, routes: JsonObject, is: readonly string[]])[] = [
  ["TCP routes", { tcp: [{ route }] }, ["v"]],
  ["TLS routes", { tls: [{ match: [{ sniHosts }], route }] }, ["v"]],
  ["TCP and HTTP routes", { tcp: [{ route }], http: [{ route }] }, ["v"]],
  ["HTTP routes alone", { http: [{ route }] }, []],
];

/** Of all egress listeners of the sidecar. */
const layer4Names = query<readonly string[]>("layer 4 names", (view) =>
  proxyEgressListeners(view).flatMap(({ name }) => layer4VirtualServices(view, name).map(({ key }) => key.name)),
);

describe("VirtualServices of connections", () => {
  for (const [name, routes, is] of cases)
    it(`${is.length > 0 ? "have" : "do not have"} ${name}`, () => {
      const rule = aConfig("VirtualService", "shop", "v", { hosts: ["db"], ...routes });
      const core = aMesh(aService("db", "shop"), rule);
      assert.deepEqual(core.read(layer4Names, core.subjectOf(aSidecar("shop"))), is);
    });
});
