/**
 * Addresses for ServiceEntries that have none: a proxy that captures DNS can then tell TCP services apart.
 * The host's hash decides, so that every replica and every restart finds the same address.
 */
import type { Service } from "@flotilla/model";
import { wantsAddress } from "./service-entry.ts";

const slots = 256 * 254;
/** The largest prime below the number of slots: double hashing then visits every slot. */
const prime = 65011;

/** Fills in the addresses of those that want one; all services of one host share it. Order decides collisions. */
export function autoAllocate(services: readonly Service[]): readonly Service[] {
  const taken = new Map<number, Service>();
  const seen = new Set<string>();
  for (const service of services) {
    // Services that share namespace and host are one: the second must not look like a collision.
    const key = `${service.namespace}/${service.hostname}`;
    if (!wantsAddress(service) || seen.has(key) || taken.size >= slots) continue;
    seen.add(key);
    taken.set(freeSlot(service, taken), service);
  }
  const byHost = new Map<string, readonly [number, number]>();
  // An address may not end in .0: from there on everything moves by one.
  let shift = 1;
  for (const [slot, { hostname }] of [...taken].sort(([a], [b]) => a - b)) {
    if (byHost.has(hostname)) continue;
    if ((slot + shift) % 255 === 0) shift += 1;
    byHost.set(hostname, [Math.floor((slot + shift) / 255), (slot + shift) % 255]);
  }
  return services.map((service) => {
    const octets = wantsAddress(service) ? byHost.get(service.hostname) : undefined;
    if (octets === undefined) return service;
    const [third, fourth] = octets;
    return {
      ...service,
      autoAllocatedIpv4: `240.240.${third}.${fourth}`,
      autoAllocatedIpv6: `2001:2::f0f0:${third.toString(16)}${fourth.toString(16)}`,
    };
  });
}

function freeSlot({ namespace, hostname }: Service, taken: ReadonlyMap<number, Service>): number {
  const hash = fnv1a(`${namespace}/${hostname}`);
  const first = hash % slots;
  if (!taken.has(first)) return first;
  const step = prime - (hash % prime);
  for (let i = 1; ; i += 1) {
    const slot = Number((BigInt(hash) + BigInt(i) * BigInt(step)) % BigInt(slots - 1));
    if (!taken.has(slot)) return slot;
  }
}

/** Host names are ASCII; others are hashed by their UTF-8 bytes, as everywhere. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code > 127) return fnv1aBytes(new TextEncoder().encode(text));
    hash = Math.imul(hash ^ code, 0x01000193);
  }
  return hash >>> 0;
}

function fnv1aBytes(bytes: Uint8Array): number {
  let hash = 0x811c9dc5;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}
