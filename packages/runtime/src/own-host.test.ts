import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { forOwnHost, isOwnHost } from "./own-host.ts";

const request = (remoteAddress: string) => ({
  ...{ method: "GET", path: "/debug/x", query: new URLSearchParams(), headers: {}, body: new Uint8Array() },
  remoteAddress,
});

describe("own host", () => {
  for (const [address, expected] of [
    ["127.0.0.1", true],
    ["127.9.8.7", true],
    ["::1", true],
    ["::ffff:127.0.0.1", true],
    ["10.0.0.1", false],
    ["::ffff:10.0.0.1", false],
    ["127.0.0.1.evil.test", false],
    ["", false],
  ] as const) {
    it(`${JSON.stringify(address)} is ${expected ? "" : "not "}of this host`, () =>
      assert.equal(isOwnHost(address), expected));
  }

  it("others are refused, unless the page is for everybody", async () => {
    const page = () => ({ text: "shown" });
    assert.deepEqual(await forOwnHost(true, page)(request("127.0.0.1")), { text: "shown" });
    assert.equal((await forOwnHost(true, page)(request("10.0.0.1"))).status, 403);
    assert.deepEqual(await forOwnHost(false, page)(request("10.0.0.1")), { text: "shown" });
  });
});
