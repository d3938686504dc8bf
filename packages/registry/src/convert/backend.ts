/** A Backend of Gateway API's experimental channel that names a host outside: short for a ServiceEntry. */

import type { Config } from "@flotilla/model";
import { isClusterSetHost, ownValue } from "@flotilla/model";
import type { ServiceEntrySpec } from "../kube.ts";

interface BackendSpec {
  readonly type?: string;
  readonly protocol?: string;
  readonly port?: { readonly port?: number };
  readonly externalHostname?: { readonly hostname?: string };
}

const protocols: Readonly<Record<string, string>> = {
  HTTP: "HTTP",
  HTTP11: "HTTP",
  HTTP2: "HTTP2",
  H2C: "HTTP2",
  GRPC: "GRPC",
  // MCP travels over HTTP; a service port has no name for it.
  MCP: "HTTP",
};

/** The protocol of the ServiceEntry's port; unknown ones are opaque. */
export function backendProtocol(protocol: string): string {
  return ownValue(protocols, protocol) ?? "TCP";
}

/** Undefined for Backends of other types, and for hosts that belong to the cluster: those have Services. */
export function backendServiceEntry(backend: Config, domain: string): Config<ServiceEntrySpec> | undefined {
  const { type, protocol = "HTTP", port, externalHostname } = backend.spec as BackendSpec;
  const host = externalHostname?.hostname ?? "";
  if (type !== "ExternalHostname" || host === "" || port?.port === undefined) return undefined;
  if (host.endsWith(`.svc.${domain}`) || isClusterSetHost(host)) return undefined;
  const name = backendProtocol(protocol);
  return {
    // No object can have a tilde in its name: it cannot clash with a ServiceEntry somebody wrote.
    key: { kind: "ServiceEntry", namespace: backend.key.namespace, name: `${backend.key.name}~backend` },
    labels: {},
    annotations: {},
    creationTimeMs: backend.creationTimeMs,
    spec: {
      hosts: [host],
      ports: [{ number: port.port, protocol: name, name }],
      location: "MESH_EXTERNAL",
      resolution: "DNS",
    },
  };
}
