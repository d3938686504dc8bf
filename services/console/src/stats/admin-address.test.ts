/** Addresses at which statistics are read: settings, records of the own host, and the proxy's own address; nothing that a proxy says alone. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { recordAdminAddress } from "@flotilla/runtime";
import { type AdminAddressOptions, adminAddresses } from "./admin-address.ts";

const workDir = mkdtempSync(join(tmpdir(), "flotilla-admin-"));
const find = (peer: string, ips: string | undefined, options: Partial<AdminAddressOptions> = {}) =>
  adminAddresses({ given: [], statsPort: undefined, workDir, ...options }).of({
    ...{ proxy: "web.shop", peer },
    metadata: ips === undefined ? {} : { INSTANCE_IPS: ips },
  });

describe("the address of a proxy's statistics", () => {
  after(() => rmSync(workDir, { recursive: true }));

  it("is that of the settings, of any host, and before all others", async () => {
    const given = ["web.shop=envoy.example:9901", "api.shop=[fd00::1]:15000"];
    assert.equal(await find("10.0.0.7:1", "10.0.0.7", { given, statsPort: 15_090 }), "envoy.example:9901");
  });

  for (const text of [
    "web.shop",
    "web.shop=host",
    "web.shop=host:0",
    "web.shop=host:65536",
    "web.shop=http://host:1",
    "web.shop=a@b:1",
    "=host:1",
  ])
    it(`cannot be set by ${text}`, () =>
      assert.throws(() => adminAddresses({ given: [text], statsPort: undefined, workDir }), /SETTINGS_INVALID/));

  it("is that of the work directory, on this host", async () => {
    for (const [address, expected] of [
      ["127.0.0.1:4711", "127.0.0.1:4711"],
      ["[::1]:4711", "[::1]:4711"],
      ["10.0.0.7:4711", undefined],
      ["metadata.internal:80", undefined],
      ["127.0.0.1:4711/debug", undefined],
      ["", undefined],
    ] as const) {
      await using _recorded = await recordAdminAddress({ workDir, proxy: "web.shop" }, address);
      assert.equal(await find("127.0.0.1:1", "127.0.0.1"), expected, address);
    }
  });

  const atPeer = [
    {
      name: "connects from an address that it has",
      peer: "10.0.0.7:4711",
      ips: "fd00::7,10.0.0.7",
      expected: "10.0.0.7:15090",
    },
    {
      name: "connects from an IPv6 address that it has",
      peer: "[fd00::7]:4711",
      ips: "fd00::7",
      expected: "[fd00::7]:15090",
    },
    {
      name: "connects to a socket for both families",
      peer: "[::ffff:10.0.0.7]:4711",
      ips: "10.0.0.7",
      expected: "10.0.0.7:15090",
    },
    { name: "is behind a gateway", peer: "10.0.0.1:4711", ips: "10.0.0.7", expected: undefined },
    { name: "reports no address", peer: "10.0.0.7:4711", ips: undefined, expected: undefined },
    { name: "reports part of an address", peer: "10.0.0.7:4711", ips: "10.0.0.70", expected: undefined },
    { name: "is on the own host", peer: "127.0.0.1:4711", ips: "127.0.0.1", expected: undefined },
    { name: "is on the own host, by IPv6", peer: "[::1]:4711", ips: "::1", expected: undefined },
    {
      name: "is on the own host, by a mapped address",
      peer: "[::ffff:127.0.0.1]:1",
      ips: "127.0.0.1",
      expected: undefined,
    },
    { name: "is at a metadata service", peer: "169.254.169.254:80", ips: "169.254.169.254", expected: undefined },
    { name: "is at a link-local address", peer: "[fe80::1]:80", ips: "fe80::1", expected: undefined },
    { name: "is at no unicast address", peer: "239.0.0.1:80", ips: "239.0.0.1", expected: undefined },
    { name: "names a host", peer: "redis:6379", ips: "redis", expected: undefined },
  ] as const;
  for (const { name, peer, ips, expected } of atPeer)
    it(`${expected === undefined ? "is not known" : "is the peer's"} where a proxy ${name}`, async () =>
      assert.equal(await find(peer, ips, { statsPort: 15_090 }), expected));

  it("is not the peer's without the setting", async () =>
    assert.equal(await find("10.0.0.7:1", "10.0.0.7"), undefined));
});
