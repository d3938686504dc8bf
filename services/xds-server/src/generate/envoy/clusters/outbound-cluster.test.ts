/** The load balancing of a service that speaks Redis: requests of one key go to one server where Envoy understands the protocol. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { typeUrl } from "@flotilla/proto";
import { Core } from "../../../app/core.ts";
import { aPort, apply, aService, aSidecar, resourceOf } from "../../../testing/mesh.ts";

const cases: readonly (readonly [name: string, redisFilter: boolean, protocol: string, policy: string])[] = [
  ["Redis by its keys", true, "Redis", "MAGLEV"],
  ["TCP by least requests", true, "TCP", "LEAST_REQUEST"],
  ["Redis by least requests where the filter is off", false, "Redis", "LEAST_REQUEST"],
];

describe("a cluster balances", () => {
  for (const [name, redisFilter, protocol, policy] of cases)
    it(name, () => {
      const core = new Core({ features: { redisFilter } });
      apply(core, aService("db", "shop", { ports: [aPort("p", 6379, protocol)] }));
      const cluster = resourceOf(core, aSidecar("shop"), typeUrl.cluster, "outbound|6379||db.shop.svc.cluster.local");
      assert.equal(cluster?.["lbPolicy"], policy);
    });
});
