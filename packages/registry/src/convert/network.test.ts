import assert from "node:assert/strict";
import { test } from "node:test";
import { networkLookup } from "./network.ts";

const networks = {
  networks: {
    wide: { endpoints: [{ fromCidr: "10.0.0.0/8" }] },
    narrow: { endpoints: [{ fromCidr: "10.77.0.0/16" }, { fromCidr: "fd00:1::/32" }] },
    other: { endpoints: [{ fromRegistry: "far" }] },
  },
};

const cases: readonly (readonly [string, string, string])[] = [
  ["10.1.2.3", "near", "wide"],
  ["10.77.1.1", "near", "narrow"],
  ["fd00:1:2::3", "near", "narrow"],
  ["fd00:2::1", "near", ""],
  ["::ffff:10.77.1.1", "near", ""],
  ["192.0.2.1", "near", ""],
  ["host.example", "near", ""],
  ["10.77.1.1", "far", "other"],
];

for (const [address, cluster, expected] of cases) {
  test(`${address} of cluster ${cluster} lies on ${expected || "no network"}`, () =>
    assert.equal(networkLookup(networks, cluster)(address), expected));
}

test("without networks nothing has one", () => assert.equal(networkLookup(undefined, "near")("10.0.0.1"), ""));
