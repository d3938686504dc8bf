import assert from "node:assert/strict";
import { test } from "node:test";
import { type GatewayAddresses, gatewayAddresses } from "./network-gateway.ts";

const cases: readonly (readonly [unknown, readonly string[]])[] = [
  [
    [{ value: "1.2.3.4" }, { type: "Hostname", value: "edge.example" }],
    ["1.2.3.4", "edge.example"],
  ],
  [[{ value: "edge.example" }, { type: "Hostname", value: "" }, { type: "Other", value: "1.2.3.4" }], []],
  [undefined, []],
  [{ a: null }, []],
  ["1.2.3.4", []],
  [[null, 5, { value: 5 }, { type: 5, value: "1.2.3.4" }, { value: "::1" }], ["::1"]],
];

for (const [addresses, expected] of cases)
  test(`usable addresses among ${JSON.stringify(addresses)}`, () => {
    const found = gatewayAddresses({ addresses } as GatewayAddresses);
    assert.deepEqual(
      found.map(({ value }) => value),
      expected,
    );
  });
