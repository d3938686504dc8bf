/** Services of ServiceEntries and their endpoints, from the objects as they are now. */
import { type Endpoint, type Service, type ServiceKey, serviceKeyText } from "@flotilla/model";
import { autoAllocate } from "../convert/auto-allocate.ts";
import type { EndpointContext } from "../convert/pod.ts";
import { convertServiceEntry, wantsAddress } from "../convert/service-entry.ts";
import { selectedByServiceEntry, serviceEntryEndpoints } from "../convert/service-entry-endpoints.ts";
import type { ServiceEntrySpec } from "../kube.ts";
import type { RegistrySettings } from "../settings.ts";
import { selectedWorkloads } from "./kubernetes-side.ts";
import { namespaceOf, type ObjectName, type Objects } from "./objects.ts";

export class ExternalSide {
  readonly #objects: Objects;
  readonly #settings: RegistrySettings;
  readonly #services = new Map<ObjectName, readonly Service[]>();
  readonly shard: string;

  constructor(objects: Objects, settings: RegistrySettings) {
    this.#objects = objects;
    this.#settings = settings;
    this.shard = `External/${settings.clusterId}`;
  }

  /** The services to publish after these entries changed; undefined for those that are gone. */
  services(entries: ReadonlySet<ObjectName>): ReadonlyMap<string, readonly [ServiceKey, Service | undefined]> {
    const result = new Map<string, readonly [ServiceKey, Service | undefined]>();
    let allocate = false;
    for (const name of entries) {
      for (const service of this.#services.get(name) ?? []) {
        allocate ||= needsAllocation(service);
        const key = this.#key(service);
        result.set(serviceKeyText(key), [key, undefined]);
      }
      const services = this.#convert(name);
      if (services.length === 0) this.#services.delete(name);
      else this.#services.set(name, services);
      for (const service of services) {
        allocate ||= needsAllocation(service);
        const key = this.#key(service);
        result.set(serviceKeyText(key), [key, service]);
      }
    }
    // One entry's address can depend on the others': by a collision of their hashes.
    const allocated = allocate && this.#settings.autoAllocate ? this.#allocate() : [];
    for (const service of allocated) {
      const key = this.#key(service);
      result.set(serviceKeyText(key), [key, service]);
    }
    return result;
  }

  /** All ServiceEntries of one namespace with the same host share its endpoints. */
  endpoints(namespace: string, hostname: string, context: EndpointContext): readonly Endpoint[] {
    const names = [...this.#objects.entriesOfHost.get(`${namespace}|${hostname}`)].sort();
    return names.flatMap((name) => {
      const entry = this.#objects.serviceEntries.get(name);
      const service = this.#services.get(name)?.find((candidate) => candidate.hostname === hostname);
      if (entry === undefined || service === undefined) return [];
      const ports = (entry.spec as ServiceEntrySpec).ports ?? [];
      const selected =
        service.labelSelectors === undefined ? [] : selectedWorkloads(this.#objects, service, context, true);
      return [
        ...serviceEntryEndpoints(entry, hostname, context),
        ...selected.flatMap((workload) => selectedByServiceEntry(workload, ports)),
      ];
    });
  }

  #convert(name: ObjectName): readonly Service[] {
    const entry = this.#objects.serviceEntries.get(name);
    if (entry === undefined) return [];
    const annotations = this.#objects.namespaces.get(namespaceOf(name))?.metadata.annotations;
    return convertServiceEntry(entry, {
      canonicalExternalServices: this.#settings.canonicalExternalServices,
      ...(annotations === undefined ? {} : { namespaceAnnotations: annotations }),
    });
  }

  #allocate(): readonly Service[] {
    const all = [...this.#services.values()].flat().filter((service) => wantsAddress(service) && !optedOut(service));
    all.sort((a, b) => a.creationTimeMs - b.creationTimeMs || (serviceText(a) < serviceText(b) ? -1 : 1));
    return autoAllocate(all);
  }

  #key({ namespace, hostname, name }: Service): ServiceKey {
    return { shard: this.shard, namespace, hostname, name };
  }
}

function needsAllocation(service: Service): boolean {
  return wantsAddress(service) && service.autoAllocatedIpv4 === undefined && service.autoAllocatedIpv6 === undefined;
}

function optedOut({ labels }: Service): boolean {
  return labels["networking.istio.io/enable-autoallocate-ip"] === "false";
}

function serviceText({ name, namespace, hostname }: Service): string {
  return `${name}|${namespace}|${hostname}`;
}
