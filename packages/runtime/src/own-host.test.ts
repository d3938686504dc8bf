import assert from "node:assert/strict";
import { hostname } from "node:os";
import { describe, it } from "node:test";
import { forOwnHost, isFromOwnHost, isOwnHost } from "./own-host.ts";

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

  for (const [host, expected] of [
    ["127.0.0.1:15014", true],
    ["localhost", true],
    ["a.localhost:80", true],
    ["[::1]:15014", true],
    ["10.0.0.1:15014", true],
    [hostname(), true],
    [undefined, true],
    ["pages.evil.test:15014", false],
    ["127.0.0.1.evil.test", false],
    ["localhost.evil.test", false],
    ["evil-localhost", false],
  ] as const) {
    it(`a request of this host that names ${host ?? "no host"} is ${expected ? "" : "not "}answered`, () => {
      assert.equal(isFromOwnHost({ remoteAddress: "127.0.0.1", headers: { host } }), expected);
      assert.equal(isFromOwnHost({ remoteAddress: "10.0.0.1", headers: { host } }), false);
    });
  }

  it("others are refused, unless the page is for everybody", async () => {
    const page = () => ({ text: "shown" });
    assert.deepEqual(await forOwnHost(true, page)(request("127.0.0.1")), { text: "shown" });
    assert.equal((await forOwnHost(true, page)(request("10.0.0.1"))).status, 403);
    assert.deepEqual(await forOwnHost(false, page)(request("10.0.0.1")), { text: "shown" });
  });
});
