/** The annotations and labels that steer injection, and whether their values can be followed. */

import { isIP } from "node:net";
import { ownValue } from "@flotilla/model";
import type { Problem } from "@flotilla/validation";
import type { Texts } from "./pod.ts";

export const names = {
  inject: "sidecar.istio.io/inject",
  templates: "inject.istio.io/templates",
  status: "sidecar.istio.io/status",
  overrides: "proxy.istio.io/overrides",
  proxyConfig: "proxy.istio.io/config",
  proxyImageType: "sidecar.istio.io/proxyImageType",
  nativeSidecar: "sidecar.istio.io/nativeSidecar",
  interceptionMode: "sidecar.istio.io/interceptionMode",
  rewriteProbes: "sidecar.istio.io/rewriteAppHTTPProbers",
  statusPort: "status.sidecar.istio.io/port",
  mergeMetrics: "prometheus.istio.io/merge-metrics",
  scrapeTargets: "prometheus.istio.io/scrape-targets",
} as const;

/** Findings refuse the pod: a proxy that captures other traffic than was meant is worse than none. */
export function checkAnnotations(annotations: Texts): readonly Problem[] {
  return Object.entries(checks).flatMap(([name, check]): readonly Problem[] => {
    const value = ownValue(annotations, name);
    const reason = value === undefined ? undefined : check(value);
    return reason === undefined ? [] : [{ field: name, reason, severity: "error" }];
  });
}

type Check = (value: string) => string | undefined;

const checks: Readonly<Record<string, Check>> = {
  "sidecar.istio.io/inject": boolean,
  "sidecar.istio.io/interceptionMode": (value) =>
    ["REDIRECT", "TPROXY", "NONE"].includes(value)
      ? undefined
      : `interceptionMode invalid, use REDIRECT, TPROXY or NONE: ${JSON.stringify(value)}`,
  "status.sidecar.istio.io/port": (value) => port(value, 0),
  "traffic.sidecar.istio.io/includeOutboundIPRanges": (value) =>
    prefixed("includeIPRanges", listOf(value, addressRange, true)),
  "traffic.sidecar.istio.io/excludeOutboundIPRanges": (value) =>
    prefixed("excludeIPRanges", listOf(value, addressRange, false)),
  "traffic.sidecar.istio.io/includeInboundPorts": (value) => listOf(value, port, true),
  "traffic.sidecar.istio.io/excludeInboundPorts": (value) => listOf(value, port, false),
  "traffic.sidecar.istio.io/includeOutboundPorts": (value) => listOf(value, port, true),
  "traffic.sidecar.istio.io/excludeOutboundPorts": (value) => listOf(value, port, false),
  "sidecar.istio.io/rewriteAppHTTPProbers": boolean,
  "prometheus.istio.io/merge-metrics": boolean,
};

/** Separated by commas; `*` alone stands for all where that makes sense. */
function listOf(value: string, check: Check, allowsAll: boolean): string | undefined {
  if (value.trim() === "" || (allowsAll && value.trim() === "*")) return undefined;
  return value
    .split(",")
    .map((part) => check(part.trim()))
    .find((reason) => reason !== undefined);
}

/** The setting that the annotation stands for, as the agent calls it. */
function prefixed(setting: string, reason: string | undefined): string | undefined {
  return reason === undefined ? undefined : `${setting} invalid: ${reason}`;
}

function addressRange(value: string): string | undefined {
  const [address = "", bits = "", rest] = value.split("/");
  const most = isIP(address) === 6 ? 128 : 32;
  const isGood = rest === undefined && isIP(address) !== 0 && /^\d+$/.test(bits) && Number(bits) <= most;
  return isGood ? undefined : `invalid CIDR address: ${value}`;
}

function port(value: string, lowest = 0): string | undefined {
  const number = /^\d+$/.test(value) ? Number(value) : Number.NaN;
  return number >= lowest && number <= 65_535 ? undefined : `port invalid: ${JSON.stringify(value)}`;
}

function boolean(value: string): string | undefined {
  const known = ["", "true", "false", "yes", "no", "on", "off", "y", "n", "1", "0", "t", "f"];
  return known.includes(value.toLowerCase()) ? undefined : `is no boolean: ${JSON.stringify(value)}`;
}
