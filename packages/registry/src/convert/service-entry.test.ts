import assert from "node:assert/strict";
import { test } from "node:test";
import type { Config } from "@flotilla/model";
import { convertServiceEntry } from "./service-entry.ts";

function entry(resolution: string): Config {
  const key = { kind: "ServiceEntry", namespace: "n", name: "e" };
  const ports = [
    { number: 80, name: "http", protocol: "HTTP", targetPort: 8080 },
    { number: 443, name: "tls", protocol: "TLS" },
  ];
  return { key, labels: {}, annotations: {}, creationTimeMs: 0, spec: { hosts: ["a.example"], ports, resolution } };
}

// As a running istiod shows them.
for (const [resolution, ports] of [
  ["NONE", { 80: 8080 }],
  ["STATIC", undefined],
  ["DNS", undefined],
] as const) {
  test(`ports of a service whose resolution is ${resolution} that callers' own addresses are called at`, () => {
    const [service] = convertServiceEntry(entry(resolution), {
      canonicalExternalServices: false,
      statusAddresses: true,
    });
    assert.deepEqual(service?.passthroughTargetPorts, ports);
  });
}

test("automatic addresses are those that the entry's status has for each host", () => {
  const base = entry("DNS");
  const addresses = ["240.240.0.1 a.example", "2001:2::1 a.example", "240.240.0.2 b.example", "2001:2::2 b.example"];
  const status = { addresses: addresses.map((text) => ({ value: text.split(" ")[0], host: text.split(" ")[1] })) };
  const config = { ...base, spec: { ...(base.spec as object), hosts: ["a.example", "b.example"] }, status };
  const found = (one: Config) =>
    convertServiceEntry(one, { canonicalExternalServices: false, statusAddresses: true }).map(
      ({ hostname, autoAllocatedIpv4, autoAllocatedIpv6 }) => [hostname, autoAllocatedIpv4, autoAllocatedIpv6],
    );
  assert.deepEqual(found(config), [
    ["a.example", "240.240.0.1", "2001:2::1"],
    ["b.example", "240.240.0.2", "2001:2::2"],
  ]);
  assert.deepEqual(found(base), [["a.example", undefined, undefined]]);
  for (const odd of [5, { addresses: false }, { addresses: [null, { value: 5 }, { value: "a.b" }] }])
    assert.deepEqual(found({ ...base, status: odd }), [["a.example", undefined, undefined]]);
});

test("a service has the version of its entry, and the entry that defines it", () => {
  const options = { canonicalExternalServices: false, statusAddresses: false };
  const [versioned, plain] = [{ ...entry("DNS"), resourceVersion: "7" }, entry("DNS")].map(
    (one) => convertServiceEntry(one, options)[0],
  );
  assert.deepEqual([versioned?.resourceVersion, versioned?.definedBy], ["7", "ServiceEntry/n/e"]);
  assert.ok(plain !== undefined && !("resourceVersion" in plain));
});

test("a service has what its entry selects, exports and trusts, each once and in order", () => {
  const base = entry("STATIC");
  const more = {
    ...{ hosts: ["b.example", "a.example", "b.example"], exportTo: ["z", "a", "z"], subjectAltNames: ["spiffe://x"] },
    workloadSelector: { labels: { app: "a" } },
  };
  const options = { canonicalExternalServices: false, statusAddresses: false };
  const found = convertServiceEntry({ ...base, spec: { ...(base.spec as object), ...more } }, options);
  assert.deepEqual(
    found.map(({ hostname }) => hostname),
    ["b.example", "a.example"],
  );
  assert.deepEqual(found[0]?.exportTo, ["a", "z"]);
  assert.deepEqual([found[0]?.labelSelectors, found[0]?.serviceAccounts], [{ app: "a" }, ["spiffe://x"]]);
  const unselected = convertServiceEntry(base, options)[0];
  assert.ok(unselected !== undefined && !("labelSelectors" in unselected));
});

test("an annotation lets callers connect to all addresses of a name at once", () => {
  const races = (strategy: string) => {
    const annotations = { "istio.io/connect-strategy": strategy };
    const options = { canonicalExternalServices: false, statusAddresses: true };
    return convertServiceEntry({ ...entry("DNS"), annotations }, options)[0]?.racesConnections;
  };
  assert.deepEqual([races("race_first_tcp_connect"), races("DEFAULT")], [true, undefined]);
});
