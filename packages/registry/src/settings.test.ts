/** Settings of registries: ranges of addresses, each of its family. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { defaultRegistrySettings, parseRegistrySettings } from "./settings.ts";

describe("the ranges of allocated addresses", () => {
  const v4 = "PILOT_IP_AUTOALLOCATE_IPV4_PREFIX";
  const v6 = "PILOT_IP_AUTOALLOCATE_IPV6_PREFIX";

  it("have defaults, and are taken as they are given", () => {
    assert.equal(defaultRegistrySettings.autoAllocateIpv6, "2001:2::/48");
    const { autoAllocateIpv4, autoAllocateIpv6 } = parseRegistrySettings({ [v4]: "10.8.0.0/16", [v6]: "fd00::/64" });
    assert.deepEqual([autoAllocateIpv4, autoAllocateIpv6], ["10.8.0.0/16", "fd00::/64"]);
  });
  for (const [name, value] of [
    [v4, "fd00::/64"],
    [v4, "10.8.0.0"],
    [v4, "everything"],
    [v6, "10.8.0.0/16"],
  ] as const)
    it(`refuse ${value} as ${name}`, () =>
      assert.throws(() => parseRegistrySettings({ [name]: value }), { code: "SETTINGS_INVALID" }));
});
