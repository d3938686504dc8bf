/**
 * Addresses for ServiceEntries that have none: a proxy that captures DNS can then distinguish TCP services. A host's hash names its place
 * in the range, so that most hosts find the same one without any memory; where that is taken the next place of the hash is, and the host
 * keeps it as long as it needs an address, whatever comes and goes beside it.
 */
import { addressNumber, addressText, fnv1a, isIpv4, parseCidr } from "@flotilla/model";

/** Addresses that the mesh gives to a service, one of each family. */
export interface Allocated {
  readonly autoAllocatedIpv4: string;
  readonly autoAllocatedIpv6: string;
}

/** A range of addresses, as numbers. */
export interface AddressRange {
  readonly base: bigint;
  /** Addresses in it; a power of two. */
  readonly size: number;
}

/** More places than anybody has hosts. */
const mostPlaces = 2 ** 24;
const fewestPlaces = 2 ** 4;

/** @throws RangeError for what is no range of that family with room for hosts. */
export function addressRange(text: string, family: 4 | 6): AddressRange {
  const cidr = parseCidr(text);
  const number = cidr === undefined ? undefined : addressNumber(cidr.address);
  if (cidr === undefined || number === undefined || isIpv4(cidr.address) !== (family === 4)) {
    throw new RangeError(
      `must be a range of IPv${family} addresses such as ${family === 4 ? "240.240.0.0/16" : "2001:2::/48"}`,
    );
  }
  const bits = (family === 4 ? 32 : 128) - cidr.length;
  const size = Math.min(2 ** bits, mostPlaces);
  if (size < fewestPlaces) throw new RangeError(`must be a range of at least ${fewestPlaces} addresses`);
  return { base: (number >> BigInt(bits)) << BigInt(bits), size };
}

/** Gives addresses of a range to hosts; equal hosts in an equal order get equal addresses. */
export class AddressPool {
  readonly #ipv4: AddressRange;
  readonly #ipv6: AddressRange;
  readonly #size: number;
  readonly #placeOf = new Map<string, number>();
  readonly #hostAt = new Map<number, string>();

  constructor(ipv4: AddressRange, ipv6: AddressRange) {
    this.#ipv4 = ipv4;
    this.#ipv6 = ipv6;
    this.#size = Math.min(ipv4.size, ipv6.size);
  }

  /** Restores a host's earlier address, given by us or by one of us; of two with the same address the first keeps it. */
  remember(host: string, ipv4: string): void {
    const number = addressNumber(ipv4);
    const place = number === undefined ? -1n : number - this.#ipv4.base;
    if (place <= 0n || place >= BigInt(this.#size) || this.#hostAt.has(Number(place))) return;
    this.#take(host, Number(place));
  }

  /** Allocates for the given hosts, by name, in the order in which they go first; others give theirs back. */
  allocate(hosts: readonly string[], isReserved: (address: string) => boolean): ReadonlyMap<string, Allocated> {
    const wanted = new Set(hosts);
    for (const [host, place] of [...this.#placeOf]) {
      if (wanted.has(host) && !this.#isReserved(place, isReserved)) continue;
      this.#placeOf.delete(host);
      this.#hostAt.delete(place);
    }
    for (const host of hosts) {
      if (this.#placeOf.has(host)) continue;
      const place = this.#freePlace(host, isReserved);
      if (place !== undefined) this.#take(host, place);
    }
    return new Map(
      hosts.flatMap((host) => {
        const place = this.#placeOf.get(host);
        return place === undefined ? [] : [[host, this.#addresses(place)] as const];
      }),
    );
  }

  #take(host: string, place: number): void {
    this.#placeOf.set(host, place);
    this.#hostAt.set(place, host);
  }

  /** Double hashing: an odd step visits every place of a power of two. Undefined when all are taken. */
  #freePlace(host: string, isReserved: (address: string) => boolean): number | undefined {
    const hash = fnv1a(host) % this.#size;
    const step = (fnv1a(`${host}#`) % this.#size) | 1;
    for (let i = 0; i < this.#size; i += 1) {
      const place = (hash + i * step) % this.#size;
      if (!isUsable(place, this.#size) || this.#hostAt.has(place) || this.#isReserved(place, isReserved)) continue;
      return place;
    }
    return undefined;
  }

  #isReserved(place: number, isReserved: (address: string) => boolean): boolean {
    const { autoAllocatedIpv4, autoAllocatedIpv6 } = this.#addresses(place);
    return isReserved(autoAllocatedIpv4) || isReserved(autoAllocatedIpv6);
  }

  #addresses(place: number): Allocated {
    return {
      autoAllocatedIpv4: addressText(this.#ipv4.base + BigInt(place), 4),
      autoAllocatedIpv6: addressText(this.#ipv6.base + BigInt(place), 6),
    };
  }
}

/** Some clients take addresses that end in 0 or 255 for networks and broadcasts. */
function isUsable(place: number, size: number): boolean {
  const last = place % 256;
  return place > 0 && place < size - 1 && last !== 0 && last !== 255;
}
