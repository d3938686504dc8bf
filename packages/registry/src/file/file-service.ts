/** A service of a registry file: the short form of a ServiceEntry with endpoints. */
import type { Config, Endpoint, EndpointHealth, Service } from "@flotilla/model";
import type { EndpointContext } from "../convert/endpoint-traits.ts";
import { convertServiceEntry } from "../convert/service-entry.ts";
import { serviceEntryEndpoints } from "../convert/service-entry-endpoints.ts";
import type { ServiceEntryPort, ServiceEntrySpec, WorkloadEntrySpec } from "../kube.ts";

/** A service as a registry file has it (docs/registry-file.md). */
export interface FileService {
  readonly host: string;
  readonly namespace?: string;
  readonly addresses?: readonly string[];
  readonly ports: readonly ServiceEntryPort[];
  readonly location?: "mesh" | "external";
  readonly resolution?: "static" | "dns" | "none";
  readonly labels?: Readonly<Record<string, string>>;
  readonly exportTo?: readonly string[];
  readonly endpoints?: readonly (WorkloadEntrySpec & { readonly health?: EndpointHealth })[];
}

/** The key of a service of a registry file. */
export interface FileKey {
  readonly namespace: string;
  readonly host: string;
}

/** The whole content of the file, as it was read. */
export interface FileChange {
  readonly type: "file";
  readonly services: readonly unknown[];
}

/** The key of a service; its namespace is `default` where none is given. */
export function fileKey({ host, namespace = "default" }: FileService): FileKey {
  return { namespace, host };
}

/** The origin that services and endpoints of the file carry. */
export function fileOrigin({ namespace, host }: FileKey): string {
  return `File/${namespace}/${host}`;
}

/** Undefined when nothing can be routed to it. */
export function convertFileService(file: FileService): Service | undefined {
  const [service] = convertServiceEntry(fileAsEntry(file), {
    canonicalExternalServices: false,
    statusAddresses: false,
  });
  return service && { ...service, registry: "File", definedBy: fileOrigin(fileKey(file)) };
}

/** The endpoints of a service of the file. */
export function fileEndpoints(file: FileService, context: EndpointContext): readonly Endpoint[] {
  const { endpoints = [], ports } = file;
  const definedBy = fileOrigin(fileKey(file));
  return serviceEntryEndpoints(fileAsEntry(file), file.host, context).map((endpoint, index) => ({
    ...endpoint,
    definedBy,
    // One for each port of each endpoint, in the order of both.
    health: endpoints[Math.floor(index / ports.length)]?.health ?? endpoint.health,
  }));
}

/** The ServiceEntry that the service is the short form of. */
export function fileAsEntry(file: FileService): Config<ServiceEntrySpec> {
  const { host, addresses = [], ports, location, resolution = "static", labels = {}, exportTo, endpoints } = file;
  const { namespace } = fileKey(file);
  return {
    key: { kind: "ServiceEntry", namespace, name: host },
    labels,
    annotations: {},
    creationTimeMs: 0,
    spec: {
      hosts: [host],
      addresses,
      ports,
      location: location === "external" ? "MESH_EXTERNAL" : "MESH_INTERNAL",
      resolution: resolutions[resolution],
      ...(exportTo === undefined ? {} : { exportTo }),
      ...(endpoints === undefined ? {} : { endpoints }),
    },
  };
}

const resolutions = { static: "STATIC", dns: "DNS", none: "NONE" } as const;
