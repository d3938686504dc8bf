import assert from "node:assert/strict";
import { test } from "node:test";
import { typeUrl } from "@flotilla/proto";
import { aConfig, aMesh, aPort, aService, aSidecar, resourceOf } from "../../../testing/mesh.ts";

/** The cluster to which connections to `db:5432` go when a VirtualService sends them to `other` without a port. */
function destination(...ports: readonly number[]): string | undefined {
  const db = aService("db", "shop", { defaultAddress: "10.1.0.1", ports: [aPort("tcp", 5432, "TCP")] });
  const other = aService("other", "shop", { ports: ports.map((port) => aPort(`tcp-${port}`, port, "TCP")) });
  const route = [{ destination: { host: "other" } }];
  const rule = aConfig("VirtualService", "shop", "v", { hosts: ["db"], tcp: [{ route }] });
  const listener = resourceOf(aMesh(db, other, rule), aSidecar("shop"), typeUrl.listener, "10.1.0.1_5432");
  return /"cluster":"([^"]*)"/.exec(JSON.stringify(listener))?.[1];
}

test("a TCP destination without a port means its service's only one, else the port that was called", () => {
  assert.equal(destination(6000), "outbound|6000||other.shop.svc.cluster.local");
  assert.equal(destination(6000, 6001), "outbound|5432||other.shop.svc.cluster.local");
});
