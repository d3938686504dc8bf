import assert from "node:assert/strict";
import { test } from "node:test";
import { statName } from "./stat-name.ts";

const service = { name: "api", namespace: "shop", registry: "Kubernetes" } as const;
const parts = { hostname: "api.shop.svc.cluster.local", service, subset: "v1", port: { number: 80, name: "http" } };

for (const [pattern, wanted] of [
  ["", "otherwise"],
  ["%SERVICE_FQDN%_%SERVICE_PORT%", "api.shop.svc.cluster.local_80"],
  ["in_%SERVICE%_%SERVICE_PORT_NAME%", "in_api.shop_http"],
  ["%SERVICE_NAME%.%SUBSET_NAME%", "api.v1"],
  ["%UNKNOWN%", "%UNKNOWN%"],
] as const) {
  test(`stat name by ${pattern || "no pattern"}`, () => {
    assert.equal(statName(pattern, "otherwise", parts), wanted);
  });
}
