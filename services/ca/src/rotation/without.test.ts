import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Holdup } from "./holdups.ts";
import { resolveWithout } from "./without.ts";

const identity = "spiffe://td/ns/shop/sa/web";
const holdups: readonly Holdup[] = [
  { name: `${identity}@pod/shop/web-1/u1`, proxy: "web-1.shop", isConnected: true, reason: "" },
  { name: `${identity}@host/10.0.0.9`, isConnected: false, reason: "" },
  { name: "spiffe://td/ns/shop/sa/web-2@host/10.0.0.9", isConnected: false, reason: "" },
  { name: "ca-1:15013", reason: "" },
];
const [pod, host, other, replica] = holdups.map(({ name }) => name);

describe("going on without holders", () => {
  for (const [name, value, expected] of [
    ["a name of the list", pod, [pod]],
    ["a replica of ca", replica, [replica]],
    ["all holders of an identity", identity, [pod, host]],
    ["a proxy", "web-1.shop", [pod]],
    ["all that are not connected", "disconnected", [host, other]],
  ] as const)
    it(`takes ${name}`, () => assert.deepEqual(resolveWithout([value ?? ""], holdups, []), expected));

  it("takes what it took before", () => assert.deepEqual(resolveWithout(["gone"], holdups, ["gone"]), ["gone"]));

  it("takes `disconnected` when all are connected", () =>
    assert.deepEqual(resolveWithout(["disconnected"], holdups.slice(0, 1), []), []));

  it("refuses what nothing answers to, with the list", () =>
    assert.throws(
      () => resolveWithout(["web"], holdups, []),
      /called web: it is held up by spiffe:.*web-1.*ca-1:15013/,
    ));
});
