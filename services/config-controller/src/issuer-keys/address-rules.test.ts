import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseSettings } from "@flotilla/runtime";
import { addressRules } from "./address-rules.ts";
import { issuerKeySettings } from "./issuer-key-settings.ts";

describe("addresses that keys may be fetched from", () => {
  const rules = addressRules([], []);
  const closed = [
    ...["127.0.0.1", "127.9.9.9", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254"],
    ...["100.64.0.1", "100.100.100.200", "0.0.0.0", "224.0.0.1", "255.255.255.255", "198.18.0.1", "192.0.0.1"],
    ...["::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "ff02::1", "::ffff:10.0.0.1"],
    ...["::ffff:a00:1", "::ffff:169.254.169.254", "64:ff9b::10.0.0.1", "64:ff9b::a9fe:a9fe", "::10.0.0.1"],
    ...["2002:a00:1::", "2001:db8::1", "fec0::1", "no address", ""],
  ];
  for (const address of closed)
    it(`${address || "nothing"} is not asked`, () => assert.equal(rules.isAllowed(address), false));
  for (const address of ["8.8.8.8", "172.32.0.1", "2606:4700::1", "::ffff:8.8.8.8", "64:ff9b::808:808"])
    it(`${address} is asked`, () => assert.equal(rules.isAllowed(address), true));

  it("may be closed ones that a setting opens, but for those that another closes", () => {
    const set = addressRules(["10.0.0.0/8", "fd00::/8"], ["10.1.0.0/16", "8.8.8.8", "::ffff:9.9.9.9/128"]);
    const asked = ["10.0.0.1", "::ffff:10.0.0.1", "fd00::1", "10.1.0.1", "8.8.8.8", "::ffff:9.9.9.9", "127.0.0.1"];
    assert.deepEqual(asked.map(set.isAllowed), [true, true, true, false, false, false, false]);
  });

  for (const range of ["10.0.0.0/33", "10.0.0/8", "here", "::/129", "10.0.0.0/-1"])
    it(`"${range}" is no range: the start names the setting`, () =>
      assert.throws(() => parseSettings(issuerKeySettings, { BLOCKED_CIDRS_IN_JWKS_URIS: `10.0.0.0/8, ${range}` }), {
        code: "SETTINGS_INVALID",
        message: /BLOCKED_CIDRS_IN_JWKS_URIS=.* is no range of addresses such as 10\.0\.0\.0\/8/,
      }));

  it("ranges of settings are read one by one, spaces aside", () => {
    const { allowedJwksRanges } = parseSettings(issuerKeySettings, { ALLOWED_CIDRS_IN_JWKS_URIS: "10.0.0.0/8, ::1" });
    assert.deepEqual(allowedJwksRanges, ["10.0.0.0/8", "::1"]);
  });
});
