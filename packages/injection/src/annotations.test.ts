/** Annotations that steer injection: which values are refused. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { checkAnnotations } from "./annotations.ts";

const traffic = "traffic.sidecar.istio.io";
const good: readonly (readonly [string, string])[] = [
  ...["", "true", "FALSE", "on", "y", "0"].map((value) => ["sidecar.istio.io/inject", value] as const),
  ["sidecar.istio.io/interceptionMode", "TPROXY"],
  ["status.sidecar.istio.io/port", "0"],
  ["status.sidecar.istio.io/port", "65535"],
  [`${traffic}/includeOutboundIPRanges`, "*"],
  [`${traffic}/includeOutboundIPRanges`, "10.0.0.0/8, fd00::/128"],
  [`${traffic}/excludeOutboundIPRanges`, " "],
  [`${traffic}/includeInboundPorts`, "80,443"],
  ["unknown.example/annotation", "anything"],
];
const bad: readonly (readonly [string, string, RegExp])[] = [
  ["sidecar.istio.io/inject", "maybe", /is no boolean: "maybe"/],
  ["sidecar.istio.io/rewriteAppHTTPProbers", "2", /is no boolean/],
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

describe("an annotation", () => {
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
