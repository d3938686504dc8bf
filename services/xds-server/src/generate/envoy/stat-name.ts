/** Names of statistics by the patterns of MeshConfig (`outboundClusterStatName`, `inboundClusterStatName`). */

import type { Service } from "@flotilla/model";
import { ownValue } from "@flotilla/model";

export interface StatNameParts {
  readonly hostname: string;
  /** Undefined when the host is no known service. */
  readonly service?: Pick<Service, "name" | "namespace" | "registry"> | undefined;
  readonly subset?: string;
  readonly port?: { readonly number: number; readonly name: string } | undefined;
  /** The workload's port; 0 on the way out; `unknown` leaves the variable as it is written. */
  readonly targetPort?: number | "unknown";
}

/** The pattern with its variables replaced; `otherwise` when MeshConfig has no pattern. */
export function statName(pattern: string, otherwise: string, parts: StatNameParts): string {
  if (pattern === "") return otherwise;
  const { hostname, service, subset = "", port, targetPort = 0 } = parts;
  const ofKubernetes = service?.registry === "Kubernetes" ? service : undefined;
  const values: Readonly<Record<string, string | undefined>> = {
    SERVICE: ofKubernetes === undefined ? hostname : `${ofKubernetes.name}.${ofKubernetes.namespace}`,
    SERVICE_NAME: ofKubernetes?.name ?? hostname,
    SERVICE_FQDN: hostname,
    SERVICE_PORT: port === undefined ? "" : `${port.number}`,
    SERVICE_PORT_NAME: port?.name ?? "",
    TARGET_PORT: targetPort === "unknown" ? undefined : `${targetPort}`,
    SUBSET_NAME: subset,
  };
  return pattern.replace(/%([A-Z_]+)%/g, (text, name: string) => ownValue(values, name) ?? text);
}
