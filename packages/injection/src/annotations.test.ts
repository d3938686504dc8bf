/** Annotations that steer injection: which values are refused. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { checkAnnotations } from "./annotations.ts";

const traffic = "traffic.sidecar.istio.io";
const good: readonly (readonly [string, string])[] = [
  ...["", "true", "false"].map((value) => ["sidecar.istio.io/inject", value] as const),
  ...["1", "T", "False"].map((value) => ["prometheus.istio.io/merge-metrics", value] as const),
  ...["100m", "1.5", ".5Gi", "1e3", "+2Ki"].map((value) => ["sidecar.istio.io/proxyCPU", value] as const),
  ["readiness.status.sidecar.istio.io/periodSeconds", "4294967295"],
  [`${traffic}/excludeInterfaces`, "eth1, br-lan.5"],
  [`${traffic}/includeOutboundIPRanges`, ""],
  ["sidecar.istio.io/userVolume", '{"v":{}}'],
  ["sidecar.istio.io/userVolume", '[{"name":"v"}]'],
  ["sidecar.istio.io/nativeSidecar", "false"],
  ["sidecar.istio.io/logLevel", "debug"],
  ["sidecar.istio.io/bootstrapOverride", "my-bootstrap"],
  ["sidecar.istio.io/interceptionMode", "TPROXY"],
  ["status.sidecar.istio.io/port", "0"],
  ["status.sidecar.istio.io/port", "65535"],
  [`${traffic}/includeOutboundIPRanges`, "*"],
  [`${traffic}/includeOutboundIPRanges`, "10.0.0.0/8,fd00::/128"],
  [`${traffic}/includeInboundPorts`, "80,443"],
  ["unknown.example/annotation", "anything"],
];
const bad: readonly (readonly [string, string, RegExp])[] = [
  ["sidecar.istio.io/proxyMemory", "128MiB", /is no quantity/],
  ["sidecar.istio.io/proxyMemoryLimit", "1\n2", /is no quantity/],
  ["sidecar.istio.io/proxyCPULimit", "", /is no quantity/],
  ["readiness.status.sidecar.istio.io/initialDelaySeconds", "-1", /is no natural number/],
  ["readiness.status.sidecar.istio.io/failureThreshold", "4294967296", /is no natural number/],
  [`${traffic}/excludeInterfaces`, "eth0,,eth1", /empty interface name/],
  [`${traffic}/kubevirtInterfaces`, "0eth", /invalid characters/],
  ["istio.io/reroute-virtual-interfaces", "a234567890123456", /too long/],
  [`${traffic}/includeOutboundIPRanges`, "10.0.0.0/8, 11.0.0.0/8", /invalid CIDR address: {2}11/],
  [`${traffic}/includeOutboundIPRanges`, "10.0.0.0/08", /invalid CIDR address/],
  [`${traffic}/includeOutboundIPRanges`, "fe80::1%eth0/64", /invalid CIDR address/],
  ["sidecar.istio.io/userVolume", "{", /is no JSON$/],
  ["sidecar.istio.io/userVolumeMount", "7", /is neither object nor array/],
  ["prometheus.istio.io/merge-metrics", "tru", /is no boolean/],
  ["sidecar.istio.io/interceptionMode", "redirect", /use REDIRECT, TPROXY or NONE: "redirect"/],
  ["status.sidecar.istio.io/port", "65536", /port invalid: "65536"/],
  ["status.sidecar.istio.io/port", "-1", /port invalid/],
  ["status.sidecar.istio.io/port", "", /port invalid/],
  [`${traffic}/includeOutboundIPRanges`, "10.0.0.0/33", /includeIPRanges.*invalid CIDR address: 10\.0\.0\.0\/33/],
  [`${traffic}/includeOutboundIPRanges`, "fd00::/129", /invalid CIDR address/],
  [`${traffic}/includeOutboundIPRanges`, "10.0.0.0/8,here/8", /invalid CIDR address: here\/8/],
  [`${traffic}/excludeOutboundIPRanges`, "10.0.0.0", /excludeIPRanges.*invalid CIDR address/],
  [`${traffic}/excludeOutboundIPRanges`, "10.0.0.0/8/9", /invalid CIDR address/],
  [`${traffic}/excludeOutboundIPRanges`, "10.0.0.0/x", /invalid CIDR address/],
  [`${traffic}/excludeOutboundIPRanges`, "*", /invalid CIDR address/],
  [`${traffic}/excludeInboundPorts`, "*", /port invalid/],
  [`${traffic}/includeOutboundPorts`, "80,x", /port invalid: "x"/],
];

const doubtful: readonly (readonly [string, string, RegExp])[] = [
  ["sidecar.istio.io/inject", "maybe", /is none of true, false: "maybe"; the policy/],
  ["sidecar.istio.io/nativeSidecar", "yes", /is none of true, false/],
  ["sidecar.istio.io/rewriteAppHTTPProbers", "2", /is no boolean: "2"; the setting of the mesh holds/],
  ["sidecar.istio.io/logLevel", "loud", /is none of trace, debug/],
  ["sidecar.istio.io/bootstrapOverride", "../x", /is no name of a ConfigMap/],
];

describe("an annotation", () => {
  for (const [name, value, reason] of doubtful)
    it(`${name} brings a warning where it is ${JSON.stringify(value)}`, () => {
      const [problem, ...more] = checkAnnotations({ [name]: value });
      assert.ok(problem !== undefined && more.length === 0);
      assert.deepEqual([problem.field, problem.severity], [name, "warning"]);
      assert.match(problem.reason, reason);
    });

  for (const [name, value] of good)
    it(`${name} may be ${JSON.stringify(value)}`, () => assert.deepEqual(checkAnnotations({ [name]: value }), []));
  for (const [name, value, reason] of bad)
    it(`${name} may not be ${JSON.stringify(value)}`, () => {
      const [problem, ...more] = checkAnnotations({ [name]: value });
      assert.ok(problem !== undefined && more.length === 0);
      assert.deepEqual([problem.field, problem.severity], [name, "error"]);
      assert.match(problem.reason, reason);
    });
});
