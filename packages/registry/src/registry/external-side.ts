/** Services of ServiceEntries and their endpoints, from the objects as they are now. */
import {
  canonicalNameLabel,
  canonicalRevisionLabel,
  type Endpoint,
  type ObjectName,
  ownValue,
  type Service,
  type ServiceKey,
  serviceKeyText,
} from "@flotilla/model";
import type { EndpointContext } from "../convert/endpoint-traits.ts";
import { convertServiceEntry } from "../convert/service-entry.ts";
import { selectedByServiceEntry, serviceEntryEndpoints } from "../convert/service-entry-endpoints.ts";
import type { ServiceEntrySpec } from "../kube.ts";
import type { RegistrySettings } from "../settings.ts";
import { Allocation, hostText } from "./allocation.ts";
import { selectedWorkloads } from "./kubernetes-side.ts";
import { namespaceOf, type Objects } from "./objects.ts";
import type { FailedObjects } from "./published.ts";

/** Of several clusters' registries one owns what holds for all; the others add what of their objects it selects. */
export type RegistryRole = "own" | "other";

/** Computes the services of ServiceEntries and their endpoints. */
export class ExternalSide {
  readonly #objects: Objects;
  readonly #settings: RegistrySettings;
  readonly #role: RegistryRole;
  readonly #services = new Map<ObjectName, readonly Service[]>();
  readonly #allocation: Allocation;
  readonly #failed: FailedObjects;
  readonly shard: string;

  constructor(objects: Objects, settings: RegistrySettings, role: RegistryRole, failed: FailedObjects) {
    this.#objects = objects;
    this.#failed = failed;
    this.#settings = settings;
    this.#role = role;
    this.shard = `External/${settings.clusterId}`;
    this.#allocation = new Allocation(settings);
  }

  /** An address that was given before, by us or by one of us. */
  remember(service: Pick<Service, "namespace" | "hostname" | "autoAllocatedIpv4">): void {
    this.#allocation.remember(service);
  }

  /** The services to publish after these entries changed; undefined for those that are gone. */
  services(entries: ReadonlySet<ObjectName>): readonly (readonly [ServiceKey, Service | undefined])[] {
    const result = new Map<string, readonly [ServiceKey, Service | undefined]>();
    const emit = (service: Service, value: Service | undefined) => {
      const key = this.#key(service);
      result.set(serviceKeyText(key), [key, value]);
    };
    const allocation = this.#allocation;
    const wanted = new Set<Service>();
    const wantedBefore = new Set<string>();
    let isGivenTwice = false;
    for (const name of entries) {
      for (const service of this.#services.get(name) ?? []) {
        if (allocation.needsAddresses(service)) wantedBefore.add(hostText(service));
        emit(service, undefined);
      }
      const services = this.#convert(name);
      if (services.length === 0) this.#services.delete(name);
      else this.#services.set(name, services);
      for (const service of services) {
        if (allocation.needsAddresses(service)) wanted.add(service);
        isGivenTwice ||= allocation.hasGiven(service);
        emit(service, service);
      }
    }
    const hosts = new Set([...wanted].map(hostText));
    const sameHosts = hosts.size === wantedBefore.size && [...hosts].every((host) => wantedBefore.has(host));
    if (!sameHosts || isGivenTwice) {
      // One host's address can depend on the others'.
      const all = [...this.#services.values()].flat();
      const moved = allocation.allocate(all);
      for (const service of all)
        if (allocation.needsAddresses(service) && moved.has(hostText(service))) wanted.add(service);
    }
    for (const service of wanted) emit(service, allocation.withAddresses(service));
    return [...result.values()];
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
        service.labelSelectors === undefined
          ? []
          : selectedWorkloads(this.#objects, service, context, { pods: this.#settings.serviceEntriesSelectPods });
      const endpoints = [
        // The cluster that ServiceEntries belong to reports what they name themselves.
        ...(this.#role === "own" ? serviceEntryEndpoints(entry, hostname, context) : []),
        ...selected.flatMap((workload) => selectedByServiceEntry(workload, ports)),
      ];
      const isNamed = this.#settings.canonicalExternalServices && service.meshExternal;
      return isNamed ? endpoints.map((endpoint) => inCanonicalService(endpoint, service)) : endpoints;
    });
  }

  #convert(name: ObjectName): readonly Service[] {
    const entry = this.#objects.serviceEntries.get(name);
    const annotations = this.#objects.namespaces.get(namespaceOf(name))?.metadata.annotations;
    const context = {
      canonicalExternalServices: this.#settings.canonicalExternalServices,
      statusAddresses: this.#settings.autoAllocate,
      ...(annotations === undefined ? {} : { namespaceAnnotations: annotations }),
    };
    const convert = () => (entry === undefined ? [] : convertServiceEntry(entry, context));
    return this.#failed.attempt(`ServiceEntry/${name}`, "its services", convert) ?? this.#services.get(name) ?? [];
  }

  #key({ namespace, hostname, name }: Service): ServiceKey {
    return { shard: this.shard, namespace, hostname, name };
  }
}

/** Telemetry counts all endpoints of a service outside of the mesh as that service, whatever their own labels are. */
function inCanonicalService(endpoint: Endpoint, { namespace, labels }: Service): Endpoint {
  const canonical = [canonicalNameLabel, canonicalRevisionLabel].map((label) => [label, ownValue(labels, label) ?? ""]);
  return { ...endpoint, namespace, labels: { ...endpoint.labels, ...Object.fromEntries(canonical) } };
}
