/** The objects of the mesh that an input of the core stands for. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Config } from "@flotilla/model";
import { aConfig, anEndpoint, aService, put } from "../testing/mesh.ts";
import { Core } from "./core.ts";

const route: Config = {
  ...aConfig("VirtualService", "shop", "a", { hosts: ["a.example"] }),
  provenance: { source: "files", location: "a.yaml:3" },
};
const entry: Config = {
  ...aConfig("ServiceEntry", "shop", "e", { hosts: ["e.example"] }),
  provenance: { source: "files" },
} as Config;
const host = "b.shop.svc.cluster.local";
const core = new Core({ features: { domainSuffix: "cluster.local" } });
const endpointsKey = (hostname: string) => ({ shard: "Kubernetes/one", namespace: "shop", hostname, name: "b" });
const refusals = core.apply([
  ...put(route, entry, aService("b", "shop")),
  ...put(aService("e", "shop", { hostname: "e.example", registry: "External", definedBy: "ServiceEntry/shop/e" })),
  {
    ...{ type: "endpoints", op: "put", key: endpointsKey(host) },
    value: [anEndpoint("10.0.0.1"), anEndpoint("10.0.0.2", { definedBy: "Pod/shop/b-1" })],
  },
]);

const cases: readonly (readonly [string, input: string, want: readonly object[]])[] = [
  [
    "an object, with its source",
    "config/VirtualService/shop/a",
    [{ input: "config/VirtualService/shop/a", object: "VirtualService/shop/a", source: "files a.yaml:3" }],
  ],
  ["an object that is not there", "config/VirtualService/shop/none", []],
  [
    "a service by what defines it",
    `service/shop/${host}`,
    [{ input: `service/shop/${host}`, object: "Service/shop/b" }],
  ],
  [
    "a service of a ServiceEntry",
    "service/shop/e.example",
    [{ input: "service/shop/e.example", object: "ServiceEntry/shop/e", source: "files" }],
  ],
  [
    "endpoints by their pods, the others by their host",
    `endpoints/shop/${host}`,
    [
      { input: `endpoints/shop/${host}`, object: `endpoints of ${host}` },
      { input: `endpoints/shop/${host}`, object: "Pod/shop/b-1" },
    ],
  ],
  ["endpoints that are not there", "endpoints/shop/none", []],
  ["the MeshConfig", "mesh", [{ input: "mesh", object: "MeshConfig" }]],
  ["networks that are not set", "networks", []],
  ["a setting", "feature/domainSuffix", [{ input: "feature/domainSuffix", object: "setting DOMAIN_SUFFIX" }]],
  ["a setting that has its default", "feature/none", []],
  ["names of services only", "service-names", []],
];

describe("the objects behind an input", () => {
  it("are those of a mesh that was applied as a whole", () => assert.deepEqual(refusals, []));
  for (const [name, input, want] of cases) it(name, () => assert.deepEqual(core.objectsOf(input), want));

  it("an object behind its row is named as itself", () => {
    const rows = [`row/${"ruled-hosts"}/b`];
    const ruled = new Core();
    assert.deepEqual(ruled.apply(put(aConfig("DestinationRule", "shop", "r", { host }))), []);
    assert.deepEqual(
      rows.flatMap((row) => ruled.objectsOf(row)),
      [{ input: "config/DestinationRule/shop/r", object: "DestinationRule/shop/r" }],
    );
  });
});
