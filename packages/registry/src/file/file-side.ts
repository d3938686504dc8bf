/** Services of the registry file, each by itself: a wrong one is reported, and its last good version stays. */
import type { Endpoint, EndpointsKey, Service, ServiceKey, Workload } from "@flotilla/model";
import { workloadsOfFile } from "../convert/catalog-workloads.ts";
import type { EndpointContext } from "../convert/endpoint-traits.ts";
import type { RegistryProblem } from "../registry/problem.ts";
import { serviceFinding } from "./file-check.ts";
import {
  convertFileService,
  type FileChange,
  type FileKey,
  type FileService,
  fileEndpoints,
  fileKey,
  fileOrigin,
} from "./file-service.ts";

/** A service of the file with its endpoints; undefined once it is gone. */
export interface FileValue {
  readonly key: ServiceKey & EndpointsKey;
  readonly service: Service | undefined;
  readonly endpoints: readonly Endpoint[];
}

/** The services of the registry file as they are now. */
export class FileSide {
  readonly #shard: string;
  #services: ReadonlyMap<string, FileService> = new Map();
  #problems: readonly RegistryProblem[] = [];

  constructor(clusterId: string) {
    this.#shard = `File/${clusterId}`;
  }

  /** The services that may be others than before. */
  replaceServices({ services }: FileChange): ReadonlyMap<string, FileKey> {
    const before = this.#services;
    const after = new Map<string, FileService>();
    const problems: RegistryProblem[] = [];
    for (const [index, value] of services.entries()) {
      const text = nameOf(value);
      const finding = serviceFinding(value);
      const object = text === undefined ? `services[${index}]` : `File/${text}`;
      if (finding !== undefined) {
        const last = text === undefined ? undefined : before.get(text);
        if (text !== undefined && last !== undefined && !after.has(text)) after.set(text, last);
        problems.push({ object, ...finding });
      } else if (text !== undefined && after.has(text))
        problems.push({ object, field: "host", reason: "is in the file already: the first holds" });
      else if (text !== undefined) after.set(text, value as FileService);
    }
    this.#services = after;
    this.#problems = problems;
    const touched = new Map<string, FileKey>();
    for (const [text, service] of [...before, ...after]) {
      if (before.get(text) !== after.get(text)) touched.set(text, fileKey(service));
    }
    return touched;
  }

  all(): ReadonlyMap<string, FileKey> {
    return new Map(Array.from(this.#services, ([text, service]) => [text, fileKey(service)]));
  }

  value(text: string, { namespace, host }: FileKey, context: EndpointContext): FileValue {
    const file = this.#services.get(text);
    return {
      key: { shard: this.#shard, namespace, hostname: host, name: host },
      service: file && convertFileService(file),
      endpoints: file === undefined ? [] : fileEndpoints(file, context),
    };
  }

  /** The workloads of a service, by address. */
  workloads(text: string, context: EndpointContext): ReadonlyMap<string, Workload> {
    const file = this.#services.get(text);
    return file === undefined ? new Map<string, Workload>() : workloadsOfFile(file, context);
  }

  problems(): readonly RegistryProblem[] {
    return this.#problems;
  }
}

/** `namespace/host`; undefined for what names no host. */
function nameOf(value: unknown): string | undefined {
  const { host, namespace = "default" } = (value ?? {}) as { readonly host?: unknown; readonly namespace?: unknown };
  return typeof host === "string" && host !== ""
    ? fileOrigin({ namespace: String(namespace), host }).slice(5)
    : undefined;
}
