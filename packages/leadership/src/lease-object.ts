/** Content of a Lease: the holder's claim in its spec, versions and the nominee in annotations. */

import type { Lease } from "@flotilla/kube-api";
import { ownValue } from "@flotilla/model";
import type { Candidate } from "./candidate.ts";

const annotations = { holder: "flotilla.dev/lease-holder", nominee: "flotilla.dev/lease-nominee" } as const;

interface Claim {
  readonly name: string;
  readonly candidate: Candidate;
  readonly ttlMs: number;
  readonly namespace: string;
  readonly wallClockMs: () => number;
}

/** The lease as its holder writes it, now. */
export function renewed(lease: Lease | undefined, { name, namespace, candidate, ttlMs, wallClockMs }: Claim): Lease {
  const now = microTime(wallClockMs());
  const { holderIdentity, acquireTime, leaseTransitions = 0 } = lease?.spec ?? {};
  const isOurs = holderIdentity === candidate.holder;
  const { [annotations.nominee]: nominee, ...others } = lease?.metadata.annotations ?? {};
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: {
      ...lease?.metadata,
      name,
      namespace,
      annotations: {
        ...others,
        // A nomination is answered by what follows it; one that was followed by the nominee itself is done.
        ...(isOurs && nominee !== undefined && { [annotations.nominee]: nominee }),
        [annotations.holder]: JSON.stringify(candidate),
      },
    },
    spec: {
      holderIdentity: candidate.holder,
      leaseDurationSeconds: Math.max(1, Math.round(ttlMs / 1_000)),
      acquireTime: isOurs ? (acquireTime ?? now) : now,
      renewTime: now,
      leaseTransitions: lease === undefined || isOurs ? leaseTransitions : leaseTransitions + 1,
    },
  };
}

/** Undefined when the holder is none of ours: such a one is never asked to let go. */
export function holderOf(lease: Lease): Candidate | undefined {
  const written = candidateIn(lease, annotations.holder);
  return written?.holder === lease.spec?.holderIdentity ? written : undefined;
}

/** The candidate that asks the holder to release the lease, as long as it repeats that: one that died in between must not bar others. */
export class Nominee {
  #seen: { readonly text: string | undefined; readonly sinceMs: number } = { text: undefined, sinceMs: 0 };

  of(lease: Lease, nowMs: number, ttlMs: number): Candidate | undefined {
    const text = lease.metadata.annotations?.[annotations.nominee];
    if (this.#seen.text !== text) this.#seen = { text, sinceMs: nowMs };
    return nowMs - this.#seen.sinceMs > ttlMs ? undefined : candidateIn(lease, annotations.nominee);
  }

  static write(lease: Lease, candidate: Candidate, wallClockMs: number): Lease {
    const text = JSON.stringify({ ...candidate, at: microTime(wallClockMs) });
    const { metadata } = lease;
    return {
      ...lease,
      metadata: { ...metadata, annotations: { ...metadata.annotations, [annotations.nominee]: text } },
    };
  }
}

/** An annotation that is no candidate was written by others and is ignored. */
function candidateIn({ metadata }: Lease, annotation: string): Candidate | undefined {
  const text = ownValue(metadata.annotations, annotation);
  if (text === undefined) return undefined;
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch {
    return undefined;
  }
  const { holder, version, isDefaultRevision } = (found ?? {}) as Partial<Candidate>;
  if (typeof holder !== "string" || typeof version !== "string") return undefined;
  return { holder, version, isDefaultRevision: isDefaultRevision === true };
}

/** Kubernetes takes six digits of a second and nothing else. */
function microTime(ms: number): string {
  return new Date(ms).toISOString().replace(/(\.\d{3})Z$/, "$1000Z");
}
