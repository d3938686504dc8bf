/** A call as it arrives at the proxy of an endpoint; the names under which a workload finds its callees. */
import type { JsonObject } from "@flotilla/proto";
import type { Call } from "./call.ts";
import type { Endpoint } from "./destination.ts";
import { objectsAt, textAt, textsAt } from "./json.ts";
import type { Doubt } from "./judgement.ts";
import type { Arrival, TracedDestination } from "./trace.ts";

export interface Sender {
  readonly call: Call;
  /** SPIFFE URI; a doubt where it is not known. */
  readonly identity: string | Doubt;
  readonly address: string | Doubt;
  /** Where the receiver takes connections: `inbound` where they are redirected to it, `gateway` at the port itself. */
  readonly mode: "inbound" | "gateway";
}

/** Undefined for endpoints that are not `ADDRESS:PORT`, and over HBONE. */
export function arrivalAt(endpoint: Endpoint, destination: TracedDestination, sender: Sender): Arrival | undefined {
  const { call, identity, address, mode } = sender;
  const { request, cluster, isHttp } = destination;
  const [, host = "", port = ""] = /^\[?(.+?)\]?:(\d+)$/.exec(endpoint.address) ?? [];
  if (host === "" || endpoint.transport === "HBONE") return undefined;
  const isMutual = endpoint.transport === "mutual TLS";
  const [, servicePort = port, subset = "", service = ""] = cluster.split("|");
  const protocol = { Protocol: isHttp || call.TLS === "tls" ? (call.Protocol ?? "tcp") : "tcp" } as const;
  const transport = isMutual
    ? ({ TLS: "mtls", Sni: `outbound_.${servicePort}_.${subset}_.${service}` } as const)
    : ({ TLS: endpoint.transport === "TLS" || !isHttp ? (call.TLS ?? "plaintext") : "plaintext" } as const);
  return {
    call: {
      ...{ Address: host, Port: Number(port), CallMode: mode, Method: call.Method ?? "GET", ...request },
      ...(isMutual && !isHttp ? { Protocol: "tcp" } : protocol),
      ...transport,
      ...(endpoint.transport === "TLS" && { TLS: "tls" }),
      ...(!isMutual && call.Sni !== undefined && { Sni: call.Sni }),
      ...(call.Claims !== undefined && { Claims: call.Claims }),
    },
    peer: isMutual ? identity : undefined,
    sourceIp: address,
  };
}

/** The trust domain of a proxy's mesh, by what its inbound listeners ask of callers; undefined where they ask nothing. */
export function trustDomainOf(listeners: readonly JsonObject[]): string | undefined {
  for (const chain of listeners.flatMap((one) => objectsAt(one, "filterChains"))) {
    const context = ["transportSocket", "typedConfig", "commonTlsContext", "combinedValidationContext"] as const;
    const [first] = objectsAt(chain, ...context, "defaultValidationContext", "matchSubjectAltNames");
    const [, found] = /^spiffe:\/\/([^/]+)\//.exec(textAt(first, "prefix")) ?? [];
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The address of a host by a proxy's name table, which a workload of the namespace may call by its short names. */
export function resolveHost(table: JsonObject | undefined, namespace: string, host: string): string | undefined {
  const suffixes = ["", `.${namespace}.svc.cluster.local`, ".svc.cluster.local", ".cluster.local"];
  const [address] = suffixes.flatMap((suffix) => textsAt(table, "table", `${host}${suffix}`, "ips"));
  return address;
}
