/** An entry of MeshConfig's configSources: where configuration comes from, and how much depends on it. */

import type { JsonObject } from "@flotilla/model";
import { ownValue } from "@flotilla/model";

export type SourceAddress =
  | { readonly type: "directory"; readonly path: string }
  | { readonly type: "kubernetes" }
  | McpAddress;

export interface McpAddress {
  readonly type: "xds";
  /** `xds://host:port`, as it is shown. */
  readonly name: string;
  readonly address: string;
  /** Of kinds; empty: all. */
  readonly kinds: readonly string[];
  /** Its MeshConfig is taken too, below the one stated here. */
  readonly withMesh: boolean;
  readonly tls: TlsSettings;
  /** Optional: nothing waits for it. Required: the service is not ready before it has sent everything. */
  readonly isRequired: boolean;
  /** A required source that is away for longer makes the service not ready; undefined: never. */
  readonly maxAgeMs: number | undefined;
}

export interface TlsSettings {
  readonly mode: "DISABLE" | "SIMPLE" | "MUTUAL" | "ISTIO_MUTUAL";
  readonly caFile: string | undefined;
  readonly certFile: string | undefined;
  readonly keyFile: string | undefined;
  readonly serverName: string | undefined;
  readonly subjectAltNames: readonly string[];
  readonly skipVerify: boolean;
}

export interface SourceFinding {
  readonly field: string;
  readonly reason: string;
}

/** The kinds that SERVICE_REGISTRY stands for. */
const registryKinds = ["ServiceEntry", "WorkloadEntry", "WorkloadGroup"];
const modes = ["DISABLE", "SIMPLE", "MUTUAL", "ISTIO_MUTUAL"] as const;
const parameters = ["required", "maxAge", "kinds", "mesh"];
const unitsMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** Entries in order; an invalid entry is left out alone. */
export function readSourceAddresses(
  meshSpec: JsonObject,
  isKind: (name: string) => boolean,
): { readonly sources: readonly SourceAddress[]; readonly findings: readonly SourceFinding[] } {
  const entries = meshSpec["configSources"] ?? [];
  const sources: SourceAddress[] = [];
  const findings: SourceFinding[] = [];
  for (const [index, entry] of (Array.isArray(entries) ? entries : []).entries()) {
    const read = readEntry(entry as JsonObject, isKind);
    if ("reason" in read) findings.push({ ...read, field: `configSources[${index}].${read.field}` });
    else sources.push(read);
  }
  return { sources, findings };
}

function readEntry(entry: JsonObject, isKind: (name: string) => boolean): SourceAddress | SourceFinding {
  const text = entry["address"];
  const url = typeof text === "string" ? URL.parse(text) : null;
  const wrong = (reason: string): SourceFinding => ({ field: "address", reason: `"${String(text ?? "")}" ${reason}` });
  if (url === null) return wrong("is no address such as xds://host:port, fs:///path or k8s://");
  switch (url.protocol) {
    case "fs:":
      return url.pathname === "" ? wrong("names no directory") : { type: "directory", path: url.pathname };
    case "k8s:":
      return { type: "kubernetes" };
    case "xds:":
      break;
    default:
      return wrong("is neither xds://, fs:// nor k8s://");
  }
  if (url.hostname === "" || url.port === "") return wrong("names no host and port");
  const unknown = [...url.searchParams.keys()].find((name) => !parameters.includes(name));
  if (unknown !== undefined) return wrong(`has the unknown parameter ${unknown}; known are ${parameters.join(", ")}`);
  const flags = { required: url.searchParams.get("required") ?? "true", mesh: url.searchParams.get("mesh") ?? "false" };
  const bad = Object.entries(flags).find(([, value]) => value !== "true" && value !== "false");
  if (bad !== undefined) return wrong(`has a parameter ${bad[0]} that is not true or false`);
  const maxAge = url.searchParams.get("maxAge");
  const maxAgeMs = maxAge === null ? undefined : durationMs(maxAge);
  if (Number.isNaN(maxAgeMs)) return wrong("has a parameter maxAge that is no duration such as 90s or 5m");
  const kinds = kindsOf(url, entry);
  const stray = kinds.find((kind) => !isKind(kind));
  if (stray !== undefined) return wrong(`asks for ${stray}, which is no kind of Istio's`);
  const tls = readTls((entry["tlsSettings"] ?? entry["tls_settings"] ?? {}) as JsonObject);
  if ("reason" in tls) return tls;
  const common = { type: "xds", name: `xds://${url.host}`, address: url.host } as const;
  return { ...common, kinds, withMesh: flags.mesh === "true", tls, isRequired: flags.required === "true", maxAgeMs };
}

function kindsOf(url: URL, entry: JsonObject): readonly string[] {
  const named = url.searchParams.get("kinds")?.split(",") ?? [];
  const restricted = (entry["subscribedResources"] ?? entry["subscribed_resources"] ?? []) as readonly unknown[];
  return restricted.length > 0 && named.length === 0 ? registryKinds : named.filter(Boolean);
}

function readTls(settings: JsonObject): TlsSettings | SourceFinding {
  const at = (name: string) =>
    ownValue(settings, name) ??
    ownValue(
      settings,
      name.replaceAll(/[A-Z]/g, (c) => `_${c.toLowerCase()}`),
    );
  const text = (name: string): string | undefined => {
    const value = at(name);
    return typeof value === "string" && value !== "" ? value : undefined;
  };
  const mode = modes.find((known) => known === (text("mode") ?? "DISABLE"));
  const field = (name: string) => `tlsSettings.${name}`;
  if (mode === undefined) return { field: field("mode"), reason: `is none of ${modes.join(", ")}` };
  if (text("credentialName") !== undefined)
    return { field: field("credentialName"), reason: "is not read for sources: name files" };
  const [certFile, keyFile] = [text("clientCertificate"), text("privateKey")];
  if (mode === "MUTUAL" && certFile === undefined)
    return { field: field("clientCertificate"), reason: "is missing with mode MUTUAL" };
  if (mode === "MUTUAL" && keyFile === undefined)
    return { field: field("privateKey"), reason: "is missing with mode MUTUAL" };
  const names = at("subjectAltNames");
  return {
    ...{ mode, certFile, keyFile, caFile: text("caCertificates"), serverName: text("sni") },
    subjectAltNames: Array.isArray(names) ? names.filter((name) => typeof name === "string") : [],
    skipVerify: at("insecureSkipVerify") === true,
  };
}

function durationMs(text: string): number {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text) ?? [];
  return Number(amount) * (ownValue(unitsMs, unit ?? "") ?? Number.NaN);
}
