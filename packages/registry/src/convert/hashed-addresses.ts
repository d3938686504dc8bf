/**
 * Addresses for ServiceEntries as istiod computes them with PILOT_ENABLE_IP_AUTOALLOCATE=false, for proxies with
 * DNS_AUTO_ALLOCATE: the host's hash decides. A service that comes or goes may move the others by one; `AddressPool` does not.
 * Source: corpus serviceregistry, autoAllocateIPs.
 */
import { fnv1a, isWildcard, type Service } from "@flotilla/model";
import { needsAddress } from "./service-entry.ts";

const slots = 256 * 254;
/** The largest prime below the number of slots: double hashing then visits every slot. */
const prime = 65011;

/**
 * Fills in the addresses of services that need one. Each service takes a slot of its own, and order decides collisions; services of one
 * namespace and host collide for certain, and share the lowest of theirs.
 */
export function hashedAddresses(services: readonly Service[]): readonly Service[] {
  const taken = new Map<number, Service>();
  for (const service of services) {
    if (isHashed(service) && taken.size < slots) taken.set(freeSlot(service, taken), service);
  }
  const byHost = new Map<string, readonly [number, number]>();
  // An address may not end in .0: from there on everything moves by one.
  let shift = 1;
  for (const [slot, service] of [...taken].sort(([a], [b]) => a - b)) {
    if (byHost.has(hostKey(service))) continue;
    if ((slot + shift) % 255 === 0) shift += 1;
    byHost.set(hostKey(service), [Math.floor((slot + shift) / 255), (slot + shift) % 255]);
  }
  return services.map((service) => {
    const octets = isHashed(service) ? byHost.get(hostKey(service)) : undefined;
    if (octets === undefined) return service;
    const [third, fourth] = octets;
    return {
      ...service,
      autoAllocatedIpv4: `240.240.${third}.${fourth}`,
      autoAllocatedIpv6: `2001:2::f0f0:${third.toString(16)}${fourth.toString(16)}`,
    };
  });
}

/** A wildcard has no address by hash, whatever resolves its hosts. */
function isHashed(service: Service): boolean {
  return needsAddress(service) && !isWildcard(service.hostname);
}

function hostKey({ namespace, hostname }: Service): string {
  return `${namespace}/${hostname}`;
}

function freeSlot(service: Service, taken: ReadonlyMap<number, Service>): number {
  const hash = fnv1a(hostKey(service));
  const first = hash % slots;
  if (!taken.has(first)) return first;
  const step = prime - (hash % prime);
  for (let i = 1; ; i += 1) {
    const slot = Number((BigInt(hash) + BigInt(i) * BigInt(step)) % BigInt(slots - 1));
    if (!taken.has(slot)) return slot;
  }
}
