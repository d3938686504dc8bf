import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  addressNumber,
  addressText,
  clusterDomainOf,
  clusterName,
  compareSpecificity,
  hostCovers,
  hostsOverlap,
  isIpv6,
  parseCidr,
  parseClusterName,
  parseSniName,
  rangeBits,
  resolveShortName,
  sniName,
} from "../index.ts";

describe("host names", () => {
  const overlaps: readonly (readonly [string, string, boolean])[] = [
    ["a.com", "a.com", true],
    ["a.com", "b.com", false],
    ["*.com", "a.com", true],
    ["*.a.com", "b.com", false],
    ["*.com", "*.a.com", true],
    ["*.a.com", "*.com", true],
    ["*", "*.a.com", true],
    ["*.a.com", "*.b.com", false],
  ];
  for (const [a, b, expected] of overlaps) {
    it(`${a} and ${b} ${expected ? "overlap" : "have nothing in common"}`, () => {
      assert.equal(hostsOverlap(a, b), expected);
      assert.equal(hostsOverlap(b, a), expected);
    });
  }

  const covers: readonly (readonly [string, string, boolean])[] = [
    ["*", "a.com", true],
    ["*", "*.com", true],
    ["*.com", "*.a.com", true],
    ["*.a.com", "*.com", false],
    ["a.com", "*.com", false],
    ["a.com", "a.com", true],
    ["*.a.com", "a.com", false],
  ];
  for (const [outer, inner, expected] of covers) {
    it(`${outer} ${expected ? "covers" : "does not cover"} ${inner}`, () =>
      assert.equal(hostCovers(outer, inner), expected));
  }

  it("the more specific comes first", () => {
    const hosts = ["*", "b.com", "*.com", "a.com", "*.a.com", "long.a.com"];
    assert.deepEqual(hosts.sort(compareSpecificity), ["long.a.com", "a.com", "b.com", "*.a.com", "*.com", "*"]);
  });

  it("short names are completed, others kept", () => {
    assert.equal(resolveShortName("reviews", "shop", "cluster.local"), "reviews.shop.svc.cluster.local");
    assert.equal(resolveShortName("reviews.shop", "x", "cluster.local"), "reviews.shop");
    assert.equal(resolveShortName("*", "shop", "cluster.local"), "*");
  });

  it("of Services have the domain of their cluster, others none", () => {
    assert.equal(clusterDomainOf("reviews.shop.svc.cluster.local"), "cluster.local");
    assert.equal(clusterDomainOf("web.example.com"), "");
  });
});

describe("cluster names", () => {
  it("are read back as they were written", () => {
    const name = clusterName("outbound", 80, "v1", "a.shop.svc.cluster.local");
    assert.equal(name, "outbound|80|v1|a.shop.svc.cluster.local");
    assert.deepEqual(parseClusterName(name), {
      direction: "outbound",
      port: 80,
      subset: "v1",
      hostname: "a.shop.svc.cluster.local",
    });
  });

  it("are server names between networks, read back as they were written", () => {
    const parts = { direction: "outbound", port: 80, subset: "v1", hostname: "a.shop.svc.cluster.local" };
    assert.equal(sniName("outbound", 80, "v1", parts.hostname), "outbound_.80_.v1_.a.shop.svc.cluster.local");
    assert.deepEqual(parseSniName("outbound_.80_.v1_.a.shop.svc.cluster.local"), parts);
    assert.deepEqual(parseSniName("outbound_.80_._.a.com"), { ...parts, subset: "", hostname: "a.com" });
  });

  for (const name of ["a.com", "outbound_.x_._.a", "outbound_.080_._.a", "outbound_.80_._.", "outbound|80||a"]) {
    it(`${name} is no server name between networks`, () => assert.equal(parseSniName(name), undefined));
  }

  for (const name of ["PassthroughCluster", "outbound|x||a", "outbound|80|a", "outbound|080||a", "a|1|b|c|d"]) {
    it(`${name} is none`, () => assert.equal(parseClusterName(name), undefined));
  }
});

describe("addresses", () => {
  for (const text of ["::", "::1", "2001:db8::1", "::ffff:10.0.0.1", "1:2:3:4:5:6:7:8"])
    it(`${text} is IPv6`, () => assert.ok(isIpv6(text)));
  for (const text of ["", ":", "1::2::3", "1:2:3:4:5:6:7", "::1%eth0", "12345::", "::ffff:10.0.0.256", "10.0.0.1"]) {
    it(`"${text}" is not IPv6`, () => assert.ok(!isIpv6(text)));
  }

  it("ranges have a length that fits", () => {
    assert.deepEqual(parseCidr("10.0.0.0/8"), { address: "10.0.0.0", length: 8 });
    assert.deepEqual(parseCidr("10.0.0.1"), { address: "10.0.0.1", length: 32 });
    assert.deepEqual(parseCidr("::1"), { address: "::1", length: 128 });
    for (const text of ["10.0.0.0/33", "10.0.0/8", "10.0.0.0/8/8", "10.0.0.0/-1"])
      assert.equal(parseCidr(text), undefined, text);
  });
});

describe("significant bits of a range", () => {
  const cases = [
    { name: "two spellings of one range", a: "10.1.2.3/8", b: "10.9.2.3/8", same: true },
    { name: "IPv6 in short and in full", a: "1234:1f1::1/32", b: "1234:1f1:0:0:5:6:7:8/32", same: true },
    { name: "other lengths", a: "10.0.0.0/8", b: "10.0.0.0/9", same: false },
    { name: "other families", a: "0.0.0.0/0", b: "::/0", same: false },
    { name: "an address and its full range", a: "2001:db8::1", b: "2001:db8::1/128", same: true },
  ];
  for (const { name, a, b, same } of cases)
    it(`${name} ${same ? "are equal" : "differ"}`, () => assert.equal(rangeBits(a) === rangeBits(b), same));
  it("text that is no range has none", () => assert.equal(rangeBits("a.com"), undefined));
});

describe("addresses as numbers", () => {
  const texts = [
    "240.240.0.1",
    "0.0.0.0",
    "::",
    "::1",
    "2001:2::f0f0:1",
    "1:0:0:2::3",
    "fe80::",
    "1:2:3:4:5:6:7:8",
    "1:0:3:4:5:6:7:8",
  ];
  for (const text of texts) {
    it(`${text} there and back`, () => {
      assert.equal(addressText(addressNumber(text) ?? -1n, text.includes(":") ? 6 : 4), text);
    });
  }
  it("equal addresses are equal texts", () =>
    assert.equal(addressText(addressNumber("2001:0DB8:0:0::1") ?? 0n, 6), "2001:db8::1"));
  it("a host is none", () => assert.equal(addressNumber("a.example"), undefined));
});
