/** Services of ServiceEntries and their endpoints, from the objects as they are now. */
import { compareText, type Endpoint, type Service, type ServiceKey, serviceKeyText } from "@flotilla/model";
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
  #addresses: ReadonlyMap<string, Addresses> = new Map();
  readonly shard: string;

  constructor(objects: Objects, settings: RegistrySettings) {
    this.#objects = objects;
    this.#settings = settings;
    this.shard = `External/${settings.clusterId}`;
  }

  /** The services to publish after these entries changed; undefined for those that are gone. */
  services(entries: ReadonlySet<ObjectName>): readonly (readonly [ServiceKey, Service | undefined])[] {
    const result = new Map<string, readonly [ServiceKey, Service | undefined]>();
    const say = (service: Service, value: Service | undefined) => {
      const key = this.#key(service);
      result.set(serviceKeyText(key), [key, value]);
    };
    const wanted = new Set<Service>();
    const wantedBefore = new Set<string>();
    for (const name of entries) {
      for (const service of this.#services.get(name) ?? []) {
        if (this.#wantsAllocation(service)) wantedBefore.add(hostText(service));
        say(service, undefined);
      }
      const services = this.#convert(name);
      if (services.length === 0) this.#services.delete(name);
      else this.#services.set(name, services);
      for (const service of services) {
        if (this.#wantsAllocation(service)) wanted.add(service);
        say(service, service);
      }
    }
    const hosts = new Set([...wanted].map(hostText));
    const sameHosts = hosts.size === wantedBefore.size && [...hosts].every((host) => wantedBefore.has(host));
    // One host's address can depend on the others': by a collision of their hashes.
    for (const service of sameHosts ? [] : this.#allocate()) say(service, this.#withAddresses(service));
    for (const service of wanted) say(service, this.#withAddresses(service));
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

  /** Allocates for all and gives the services whose addresses are others than before. */
  #allocate(): readonly Service[] {
    const all = [...this.#services.values()].flat().filter((service) => this.#wantsAllocation(service));
    all.sort((a, b) => a.creationTimeMs - b.creationTimeMs || compareText(serviceText(a), serviceText(b)));
    const before = this.#addresses;
    const addresses = new Map<string, Addresses>();
    for (const service of autoAllocate(all)) addresses.set(hostText(service), addressesOf(service));
    this.#addresses = addresses;
    return all.filter((service) => {
      const host = hostText(service);
      return addresses.get(host)?.autoAllocatedIpv4 !== before.get(host)?.autoAllocatedIpv4;
    });
  }

  #withAddresses(service: Service): Service {
    return { ...service, ...this.#addresses.get(hostText(service)) };
  }

  /** Those whose status has addresses keep them. */
  #wantsAllocation(service: Service): boolean {
    const { autoAllocatedIpv4, autoAllocatedIpv6, labels } = service;
    if (!this.#settings.autoAllocate || !wantsAddress(service)) return false;
    if (labels["networking.istio.io/enable-autoallocate-ip"] === "false") return false;
    return autoAllocatedIpv4 === undefined && autoAllocatedIpv6 === undefined;
  }

  #key({ namespace, hostname, name }: Service): ServiceKey {
    return { shard: this.shard, namespace, hostname, name };
  }
}

type Addresses = Pick<Service, "autoAllocatedIpv4" | "autoAllocatedIpv6">;

function addressesOf({ autoAllocatedIpv4, autoAllocatedIpv6 }: Service): Addresses {
  return {
    ...(autoAllocatedIpv4 === undefined ? {} : { autoAllocatedIpv4 }),
    ...(autoAllocatedIpv6 === undefined ? {} : { autoAllocatedIpv6 }),
  };
}

/** Services of one namespace and host share their address. */
function hostText({ namespace, hostname }: Service): string {
  return `${namespace}|${hostname}`;
}

function serviceText({ name, namespace, hostname }: Service): string {
  return `${name}|${namespace}|${hostname}`;
}
