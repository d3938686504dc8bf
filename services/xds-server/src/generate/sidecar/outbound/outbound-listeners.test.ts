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

it("a sidecar has no listener of HTTP at the ports that calls are redirected to", () => {
  const ports = [15001, 15002, 15006].map((number) => aPort(`http-${number}`, number, "HTTP"));
  const core = aMesh(aService("web", "shop", { ports }));
  const names = namesOf(core, aSidecar("shop"), typeUrl.listener).filter((name) => /_150\d\d$/.test(name));
  assert.deepEqual(names, ["0.0.0.0_15002"]);
});
