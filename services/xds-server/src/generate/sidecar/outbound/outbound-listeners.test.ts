/** Ports of services that sidecars listen on. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { typeUrl } from "@flotilla/proto";
import { aMesh, aPort, aService, aSidecar, namesOf } from "../../../testing/mesh.ts";

it("a sidecar has listeners of TCP ports, and none of UDP", () => {
  const ports = [aPort("tcp", 5432, "TCP"), aPort("udp", 5353, "UDP")];
  const core = aMesh(aService("db", "shop", { ports }));
  const names = namesOf(core, aSidecar("shop"), typeUrl.listener).filter((name) => /_5\d{3}$/.test(name));
  assert.equal(names.length, 1, names.join());
  assert.match(names[0] ?? "", /_5432$/);
});
