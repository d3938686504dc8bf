/** Names that every object inherits, as a proxy or a service may have them, mean what other names mean. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { typeUrl } from "@flotilla/proto";
import { Core } from "../app/core.ts";
import { aPort, apply, aService, aSidecar, resourceOf } from "../testing/mesh.ts";

const core = new Core();
apply(
  core,
  aService("db", "shop", {
    ports: [aPort("tcp", 5432, "TCP")],
    defaultAddress: "10.96.0.5",
    clusterVips: { Kubernetes: ["10.96.0.5"] },
  }),
);
const listenerOf = (clusterId: string) =>
  resourceOf(core, aSidecar("shop", { CLUSTER_ID: clusterId }), typeUrl.listener, "10.96.0.5_5432");

describe("names that every object inherits", () => {
  const expected = listenerOf("elsewhere");
  it("are clusters like others", () => assert.ok(expected !== undefined));
  for (const name of ["toString", "constructor", "__proto__", "hasOwnProperty"])
    it(`a proxy of the cluster ${name} has its listeners`, () => assert.deepEqual(listenerOf(name), expected));
});
