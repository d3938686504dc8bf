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
