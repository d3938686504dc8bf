/** Allocates addresses for services of ServiceEntries that have none. */
import { compareText, isWildcard, rangeBits, type Service, takesAllocatedAddress } from "@flotilla/model";
import { AddressPool, type Allocated, addressRange } from "../convert/address-pool.ts";
import { hashedAddresses } from "../convert/hashed-addresses.ts";
import { unspecifiedAddress } from "../convert/kubernetes-service.ts";
import { needsAddress } from "../convert/service-entry.ts";
import type { RegistrySettings } from "../settings.ts";

/** The settings that automatic addresses depend on. */
export type AllocationSettings = Pick<RegistrySettings, "autoAllocate" | "autoAllocateIpv4" | "autoAllocateIpv6">;

/** Automatic addresses of ServiceEntries; a service keeps its address while it exists. */
export class Allocation {
  readonly #pool: AddressPool | undefined;
  #given: ReadonlyMap<string, Partial<Allocated>> = new Map();
  #addresses: ReadonlySet<string> = new Set();

  constructor({ autoAllocate, autoAllocateIpv4, autoAllocateIpv6 }: AllocationSettings) {
    this.#pool = autoAllocate
      ? new AddressPool(addressRange(autoAllocateIpv4, 4), addressRange(autoAllocateIpv6, 6))
      : undefined;
  }

  remember({
    namespace,
    hostname,
    autoAllocatedIpv4,
  }: Pick<Service, "namespace" | "hostname" | "autoAllocatedIpv4">): void {
    if (autoAllocatedIpv4 !== undefined) this.#pool?.remember(`${namespace}|${hostname}`, autoAllocatedIpv4);
  }

  /** Those whose status has addresses keep them, and some opt out; istiod hashes addresses for all alike. */
  needsAddresses(service: Service): boolean {
    if (!needsAddress(service)) return false;
    const { labels, hostname, resolution } = service;
    if (this.#pool === undefined) return !isWildcard(hostname);
    if (!takesAllocatedAddress(labels, hostname, resolution === "dynamic-dns")) return false;
    return service.autoAllocatedIpv4 === undefined && service.autoAllocatedIpv6 === undefined;
  }

  /** Was one of the service's own addresses given to somebody? */
  hasGiven(service: Service): boolean {
    const fixed = fixedAddresses(service);
    if (!fixed.some((address) => address.includes("/"))) return fixed.some((address) => this.#addresses.has(address));
    return [...this.#addresses].some(covers(fixed));
  }

  /** Allocates for all and returns the hosts whose addresses changed. */
  allocate(services: readonly Service[]): ReadonlySet<string> {
    const wanting = services.filter((service) => this.needsAddresses(service)).sort(byAge);
    const before = this.#given;
    this.#given =
      this.#pool === undefined
        ? hashed(wanting)
        : this.#pool.allocate(hostsOf(wanting), covers(services.flatMap(fixedAddresses)));
    this.#addresses = new Set([...this.#given.values()].flatMap((given) => Object.values(given)));
    return new Set(
      hostsOf(wanting).filter(
        (host) => this.#given.get(host)?.autoAllocatedIpv4 !== before.get(host)?.autoAllocatedIpv4,
      ),
    );
  }

  withAddresses(service: Service): Service {
    return { ...service, ...this.#given.get(hostText(service)) };
  }
}

/** Services of one namespace and host share their address. */
export function hostText({ namespace, hostname }: Pick<Service, "namespace" | "hostname">): string {
  return `${namespace}|${hostname}`;
}

function hostsOf(services: readonly Service[]): readonly string[] {
  return [...new Set(services.map(hostText))];
}

function hashed(services: readonly Service[]): ReadonlyMap<string, Partial<Allocated>> {
  return new Map(
    hashedAddresses(services).map((service) => {
      const { autoAllocatedIpv4, autoAllocatedIpv6 } = service;
      if (autoAllocatedIpv4 === undefined || autoAllocatedIpv6 === undefined) return [hostText(service), {}];
      return [hostText(service), { autoAllocatedIpv4, autoAllocatedIpv6 }];
    }),
  );
}

/** Is an address one of these, or in one of these ranges? */
function covers(addresses: readonly string[]): (address: string) => boolean {
  const single = new Set(addresses.filter((address) => !address.includes("/")));
  const ranges = addresses.filter((address) => address.includes("/")).flatMap((range) => rangeBits(range) ?? []);
  return (address) => {
    if (single.has(address)) return true;
    if (ranges.length === 0) return false;
    const bits = rangeBits(address) ?? "";
    return ranges.some((range) => bits.startsWith(range));
  };
}

/** Addresses that users and other controllers have given to a service. */
function fixedAddresses(service: Service): readonly string[] {
  const { defaultAddress, addresses = [], autoAllocatedIpv4, autoAllocatedIpv6 } = service;
  return [defaultAddress, ...addresses, autoAllocatedIpv4, autoAllocatedIpv6].filter(
    (address) => address !== undefined && address !== unspecifiedAddress,
  ) as readonly string[];
}

/** The elder goes first; source of the order among equals: istiod's order of services. */
function byAge(a: Service, b: Service): number {
  return a.creationTimeMs - b.creationTimeMs || compareText(nameText(a), nameText(b));
}

function nameText({ hostname, namespace }: Service): string {
  return `${hostname}.${namespace}`;
}
