import assert from "node:assert/strict";
import { test } from "node:test";
import { serviceDomains, withPort } from "./route-configuration.ts";

const cases = [
  {
    name: "a service of the caller's namespace has all short forms",
    hostname: "reviews.shop.svc.cluster.local",
    proxyDomain: "shop.svc.cluster.local",
    want: [
      "reviews.shop.svc.cluster.local",
      "reviews.shop.svc.cluster.local.",
      "reviews",
      "reviews.shop.svc",
      "reviews.shop",
    ],
  },
  {
    name: "a service of another namespace is not called by its bare name",
    hostname: "reviews.shop.svc.cluster.local",
    proxyDomain: "jobs.svc.cluster.local",
    want: ["reviews.shop.svc.cluster.local", "reviews.shop.svc.cluster.local.", "reviews.shop", "reviews.shop.svc"],
  },
  {
    name: "a host of another suffix has no short forms",
    hostname: "api.shop.svc.clusterset.local",
    proxyDomain: "shop.svc.cluster.local",
    want: ["api.shop.svc.clusterset.local", "api.shop.svc.clusterset.local."],
  },
  {
    name: "outside of Kubernetes the shared DNS domain is cut off",
    hostname: "foo.local.campus.net",
    proxyDomain: "local.campus.net",
    want: ["foo.local.campus.net", "foo.local.campus.net.", "foo"],
  },
  {
    name: "an IPv6 address stands in brackets and has no other form",
    hostname: "2001:db8::1",
    proxyDomain: "shop.svc.cluster.local",
    want: ["[2001:db8::1]"],
  },
];

for (const { name, hostname, proxyDomain, want } of cases) {
  test(name, () => {
    const names = { hostname, aliases: [], addresses: [], hasPodNames: false, mayEndInDot: true };
    assert.deepEqual(serviceDomains(names, proxyDomain).all, want);
  });
}

test("aliases come before addresses, pods of headless services last", () => {
  const names = {
    hostname: "a.example",
    aliases: ["b.example"],
    addresses: ["fd00::1"],
    hasPodNames: true,
    mayEndInDot: true,
  };
  assert.deepEqual(serviceDomains(names, "ns.svc.cluster.local").all, [
    "a.example",
    "a.example.",
    "b.example",
    "b.example.",
    "[fd00::1]",
    "*.a.example",
    "*.a.example.",
    "*.b.example",
    "*.b.example.",
  ]);
});

test("on listeners for all ports only port 80 goes without saying", () => {
  assert.deepEqual(withPort(["a", "b"], 80), ["a", "a:80", "b", "b:80"]);
  assert.deepEqual(withPort(["a", "b"], 8080), ["a:8080", "b:8080"]);
});
