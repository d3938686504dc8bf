import assert from "node:assert/strict";
import { test } from "node:test";
import { AddressPool, addressRange } from "./address-pool.ts";

const none = () => false;

function pool(ipv4 = "240.240.0.0/16"): AddressPool {
  return new AddressPool(addressRange(ipv4, 4), addressRange("2001:2::/48", 6));
}

function hosts(count: number): readonly string[] {
  return Array.from({ length: count }, (_, i) => `n/h${i}.example`);
}

test("every host gets an address of its own, the same one in both families", () => {
  const all = [...pool().allocate(hosts(3000), none).values()];
  assert.equal(new Set(all.map(({ autoAllocatedIpv4 }) => autoAllocatedIpv4)).size, 3000);
  assert.equal(new Set(all.map(({ autoAllocatedIpv6 }) => autoAllocatedIpv6)).size, 3000);
  for (const { autoAllocatedIpv4, autoAllocatedIpv6 } of all) {
    assert.match(autoAllocatedIpv4, /^240\.240\.\d+\.\d+$/);
    assert.doesNotMatch(autoAllocatedIpv4, /\.(0|255)$/);
    assert.match(autoAllocatedIpv6, /^2001:2::[0-9a-f]{1,4}$/);
  }
});

test("a host keeps its address while others come and go", () => {
  const one = pool("240.240.0.0/24");
  const first = one.allocate(hosts(100), none);
  const fewer = one.allocate(hosts(100).slice(50), none);
  for (const [host, address] of fewer) assert.deepEqual(address, first.get(host));
  const more = one.allocate(["n/new.example", ...hosts(100).slice(50)], none);
  for (const [host, address] of fewer) assert.deepEqual(more.get(host), address);
});

test("a successor that receives what was given gives the same", () => {
  const before = pool("240.240.0.0/24").allocate(hosts(200), none);
  const successor = pool("240.240.0.0/24");
  for (const [host, { autoAllocatedIpv4 }] of [...before].reverse()) successor.remember(host, autoAllocatedIpv4);
  assert.deepEqual(successor.allocate([...hosts(200)].reverse(), none), new Map([...before].reverse()));
});

test("an address that somebody else has is avoided, and given up when somebody else gets it", () => {
  const [host = ""] = hosts(1);
  const one = pool();
  const first = one.allocate([host], none).get(host);
  const second = one.allocate([host], (address) => address === first?.autoAllocatedIpv4).get(host);
  assert.notEqual(second?.autoAllocatedIpv4, first?.autoAllocatedIpv4);
  assert.deepEqual(
    pool()
      .allocate([host], (address) => address === first?.autoAllocatedIpv6)
      .get(host),
    second,
  );
});

test("a full range leaves the rest without one", () => {
  assert.equal(pool("10.9.8.0/28").allocate(hosts(20), none).size, 14);
});

test("addresses of another range are not kept", () => {
  const [host = ""] = hosts(1);
  const one = pool("10.9.0.0/16");
  one.remember(host, "240.240.3.4");
  assert.match(one.allocate([host], none).get(host)?.autoAllocatedIpv4 ?? "", /^10\.9\./);
});

for (const [text, family] of [
  ["240.240.0.0", 4],
  ["2001:2::/48", 4],
  ["240.240.0.0/16", 6],
  ["nonsense", 4],
] as const) {
  test(`${text} is no range for IPv${family}`, () => assert.throws(() => addressRange(text, family), RangeError));
}

const ranges: readonly (readonly [text: string, family: 4 | 6, size: number | RegExp])[] = [
  ["240.240.0.0/16", 4, 65_536],
  ["240.240.1.2/28", 4, 16],
  ["10.0.0.0/4", 4, 2 ** 24],
  ["2001:2::/48", 6, 2 ** 24],
  ["2001:2::/124", 6, 16],
  ["240.240.0.0/29", 4, /a range of at least 16 addresses/],
  ["2001:2::/125", 6, /a range of at least 16 addresses/],
  ["2001:2::/48", 4, /a range of IPv4 addresses such as 240\.240\.0\.0\/16/],
  ["240.240.0.0/16", 6, /a range of IPv6 addresses such as 2001:2::\/48/],
  ["somewhere", 4, /a range of IPv4 addresses/],
];
for (const [text, family, size] of ranges)
  test(`${text} is ${typeof size === "number" ? `a range of ${size} addresses` : `none of IPv${family}`}`, () => {
    if (typeof size === "number") assert.equal(addressRange(text, family).size, size);
    else assert.throws(() => addressRange(text, family), { name: "RangeError", message: size });
  });

test("a range begins at its first address, whichever of it is named", () =>
  assert.deepEqual(addressRange("240.240.1.2/16", 4), addressRange("240.240.0.0/16", 4)));
