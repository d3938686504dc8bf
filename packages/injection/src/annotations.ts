/** The annotations and labels that steer injection, and the values that they take. */

import { isIP } from "node:net";
import { ownValue, parseBoolean } from "@flotilla/model";
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

/** Errors refuse the pod: a proxy that captures other traffic than was meant is worse than none. Warnings are shown to its author. */
export function checkAnnotations(annotations: Texts): readonly Problem[] {
  const of = (checks: Checks, severity: Problem["severity"]) =>
    Object.entries(checks).flatMap(([name, check]): readonly Problem[] => {
      const value = ownValue(annotations, name);
      const reason = value === undefined ? undefined : check(value);
      return reason === undefined ? [] : [{ field: name, reason, severity }];
    });
  return [...of(refused, "error"), ...of(doubtful, "warning")];
}

/** The reason why a value cannot be followed. */
type Check = (value: string) => string | undefined;
type Checks = Readonly<Record<string, Check>>;

const refused: Checks = {
  [names.interceptionMode]: (value) =>
    ["REDIRECT", "TPROXY", "NONE"].includes(value)
      ? undefined
      : `interceptionMode invalid, use REDIRECT, TPROXY or NONE: ${JSON.stringify(value)}`,
  [names.statusPort]: port,
  "readiness.status.sidecar.istio.io/initialDelaySeconds": natural,
  "readiness.status.sidecar.istio.io/periodSeconds": natural,
  "readiness.status.sidecar.istio.io/failureThreshold": natural,
  "traffic.sidecar.istio.io/includeOutboundIPRanges": (value) =>
    value === "*" ? undefined : prefixed("includeIPRanges", ranges(value)),
  "traffic.sidecar.istio.io/excludeOutboundIPRanges": (value) => prefixed("excludeIPRanges", ranges(value)),
  "traffic.sidecar.istio.io/includeInboundPorts": (value) => (value === "*" ? undefined : ports(value)),
  "traffic.sidecar.istio.io/excludeInboundPorts": ports,
  // Beyond istiod, whose pods fail when they start.
  "traffic.sidecar.istio.io/includeOutboundPorts": (value) => (value === "*" ? undefined : ports(value)),
  "traffic.sidecar.istio.io/excludeOutboundPorts": ports,
  "traffic.sidecar.istio.io/excludeInterfaces": interfaces,
  "traffic.sidecar.istio.io/kubevirtInterfaces": interfaces,
  "istio.io/reroute-virtual-interfaces": interfaces,
  [names.mergeMetrics]: boolean,
  "sidecar.istio.io/proxyCPU": quantity,
  "sidecar.istio.io/proxyMemory": quantity,
  "sidecar.istio.io/proxyCPULimit": quantity,
  "sidecar.istio.io/proxyMemoryLimit": quantity,
  "sidecar.istio.io/userVolume": jsonVolumes,
  "sidecar.istio.io/userVolumeMount": jsonVolumes,
};

const logLevels = "trace, debug, info, warning, warn, error, critical, off, none, fatal";

/** Values that injection does not follow, and for which something else holds. */
const doubtful: Checks = {
  [names.inject]: (value) => oneOf(value, "true, false", "the policy of the injection configuration holds"),
  [names.nativeSidecar]: (value) => oneOf(value, "true, false", "only false turns native sidecars off"),
  [names.rewriteProbes]: (value) =>
    boolean(value) === undefined ? undefined : `${boolean(value)}; the setting of the mesh holds`,
  "sidecar.istio.io/logLevel": (value) => oneOf(value, logLevels, "Envoy refuses others when it starts"),
  "sidecar.istio.io/bootstrapOverride": (value) =>
    /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(value) ? undefined : `is no name of a ConfigMap: ${JSON.stringify(value)}`,
};

function oneOf(value: string, known: string, otherwise: string): string | undefined {
  if (value === "" || known.split(", ").includes(value)) return undefined;
  return `is none of ${known}: ${JSON.stringify(value)}; ${otherwise}`;
}

/** Addresses stand without blanks between them, as the tool that sets the rules reads them. */
function ranges(value: string): string | undefined {
  return value === "" ? undefined : firstReason(value.split(","), addressRange);
}

function ports(value: string): string | undefined {
  return value.trim() === "" ? undefined : firstReason(value.split(","), port);
}

function interfaces(value: string): string | undefined {
  return value === "" ? undefined : firstReason(value.split(","), (part) => interfaceReason(part.trim()));
}

function interfaceReason(name: string): string | undefined {
  if (name === "") return "empty interface name";
  if (name.length > 15) return `interface name ${JSON.stringify(name)} too long (max 15 chars)`;
  const isKnown = /^[a-zA-Z][a-zA-Z0-9_.-]*$/.test(name);
  return isKnown ? undefined : `interface name ${JSON.stringify(name)} contains invalid characters`;
}

function firstReason(parts: readonly string[], check: Check): string | undefined {
  for (const part of parts) {
    const reason = check(part);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

/** The setting that the annotation stands for, as the agent calls it. */
function prefixed(setting: string, reason: string | undefined): string | undefined {
  return reason === undefined ? undefined : `${setting} invalid: ${reason}`;
}

function addressRange(value: string): string | undefined {
  const [address = "", bits = "", rest] = value.split("/");
  const most = isIP(address) === 6 ? 128 : 32;
  const isAddress = isIP(address) !== 0 && !address.includes("%");
  const isGood = rest === undefined && isAddress && /^(0|[1-9]\d{0,2})$/.test(bits) && Number(bits) <= most;
  return isGood ? undefined : `invalid CIDR address: ${value}`;
}

function port(value: string): string | undefined {
  const text = value.trim();
  const number = /^\d{1,20}$/.test(text) ? Number(text) : Number.NaN;
  return number <= 65_535 ? undefined : `port invalid: ${JSON.stringify(value)}`;
}

function natural(value: string): string | undefined {
  const isNatural = /^\d{1,20}$/.test(value) && Number(value) <= 4_294_967_295;
  return isNatural ? undefined : `is no natural number: ${JSON.stringify(value)}`;
}

const quantityForm = /^[+-]?(\d+(\.\d*)?|\.\d+)([KMGTPE]i|[numkMGTPE]?|[eE][+-]?\d+)$/;

function quantity(value: string): string | undefined {
  const isQuantity = value.length <= 100 && quantityForm.test(value);
  return isQuantity ? undefined : `is no quantity such as 100m or 128Mi: ${JSON.stringify(value)}`;
}

/** Read by `fromJSON` of the templates, which iterate over it. */
function jsonVolumes(value: string): string | undefined {
  try {
    const parsed: unknown = JSON.parse(value);
    if (typeof parsed === "object" && parsed !== null) return undefined;
  } catch {
    return "is no JSON";
  }
  return "is neither object nor array in JSON";
}

function boolean(value: string): string | undefined {
  return parseBoolean(value) === undefined ? `is no boolean: ${JSON.stringify(value)}` : undefined;
}
