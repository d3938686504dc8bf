import assert from "node:assert/strict";
import { test } from "node:test";
import type { Service } from "@flotilla/model";
import { hashedAddresses } from "./hashed-addresses.ts";

function service(hostname: string, more: Partial<Service> = {}): Service {
  return {
    hostname,
    namespace: "n",
    name: hostname,
    registry: "External",
    ports: [],
    resolution: "dns",
    meshExternal: true,
    defaultAddress: "0.0.0.0",
    clusterVips: {},
    creationTimeMs: 0,
    labels: {},
    exportTo: [],
    serviceAccounts: [],
    definedBy: "",
    ...more,
  };
}

const none: readonly (readonly [string, Partial<Service>])[] = [
  ["has an address", { defaultAddress: "192.0.2.1" }],
  ["passes through", { resolution: "passthrough" }],
  ["has a wildcard host", { hostname: "*.example" }],
  ["has a wildcard host that proxies resolve", { hostname: "*.example", resolution: "dynamic-dns" }],
];

for (const [name, more] of none) {
  test(`a service that ${name} gets no address`, () => {
    const [got] = hashedAddresses([service("a.example", more)]);
    assert.equal(got?.autoAllocatedIpv4, undefined);
  });
}

test("an address does not depend on the other services, nor on their order", () => {
  const services = Array.from({ length: 200 }, (_, i) => service(`h${i}.example`));
  const all = new Map(
    hashedAddresses(services).map(({ hostname, autoAllocatedIpv4 }) => [hostname, autoAllocatedIpv4]),
  );
  const backwards = hashedAddresses([...services].reverse());
  for (const { hostname, autoAllocatedIpv4 } of backwards) assert.equal(autoAllocatedIpv4, all.get(hostname));
  assert.equal(new Set(all.values()).size, 200);
});

test("services of one host share its address", () => {
  const [a, b] = hashedAddresses([service("a.example"), service("a.example", { name: "second" })]);
  assert.equal(a?.autoAllocatedIpv4, b?.autoAllocatedIpv4);
  assert.match(a?.autoAllocatedIpv4 ?? "", /^240\.240\./);
});

test("hosts whose hashes collide get different addresses", () => {
  const many = Array.from({ length: 3000 }, (_, i) => service(`s${i}.example`));
  const addresses = hashedAddresses(many).map(({ autoAllocatedIpv4 }) => autoAllocatedIpv4);
  assert.equal(new Set(addresses).size, many.length);
});
