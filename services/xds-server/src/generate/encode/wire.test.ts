import assert from "node:assert/strict";
import { test } from "node:test";
import { create, decode, encode } from "@flotilla/proto";
import { VirtualHostSchema } from "@flotilla/proto/envoy/config/route/v3/route_components_pb";
import { RouteConfigurationSchema } from "@flotilla/proto/envoy/config/route/v3/route_pb";
import { concatBytes, lengthDelimited } from "./encoded.ts";

test("a message joined from encoded parts equals one that is encoded whole", () => {
  const hosts = ["a", "b".repeat(300), "c".repeat(20_000)].map((name) =>
    create(VirtualHostSchema, { name, domains: [`${name}.example`] }),
  );
  const whole = encode(
    RouteConfigurationSchema,
    create(RouteConfigurationSchema, { name: "80", virtualHosts: hosts, ignorePortInHostMatching: true }),
  );
  const joined = concatBytes([
    encode(RouteConfigurationSchema, create(RouteConfigurationSchema, { name: "80" })),
    ...hosts.map((host) => lengthDelimited(2, encode(VirtualHostSchema, host))),
    encode(RouteConfigurationSchema, create(RouteConfigurationSchema, { ignorePortInHostMatching: true })),
  ]);
  assert.deepEqual(joined, whole);
  assert.equal(decode(RouteConfigurationSchema, joined).virtualHosts.length, 3);
});
