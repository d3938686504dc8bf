/** One process of the mesh has it at a time: a Lease object where there is a cluster, else a value on the bus. */
import { type Bus, Lease } from "@flotilla/bus";
import type { KubeApi } from "@flotilla/kube-api";
import type { Candidate } from "./candidate.ts";
import { KubernetesLease } from "./kubernetes-lease.ts";

export interface DutyLease {
  /** As far as is known here: false well before somebody else can have it. */
  readonly isHeld: boolean;
  /** Takes or keeps it; to be called several times in `ttlMs` / 2. False when somebody else has it. @throws KubeError, BusError */
  hold(): Promise<boolean>;
  /** Somebody else may have it at once. @throws KubeError, BusError */
  release(): Promise<void>;
}

export interface DutyLeaseOptions {
  /** One of `duties`. */
  readonly name: string;
  readonly candidate: Candidate;
  /** Undefined where there is no cluster. */
  readonly cluster: { readonly api: KubeApi; readonly namespace: string } | undefined;
  readonly bus: Bus;
  /** As istiod's, unless told otherwise. */
  readonly ttlMs?: number;
}

const usualTtlMs = 30_000;

export async function dutyLease(options: DutyLeaseOptions): Promise<DutyLease> {
  const { name, candidate, cluster, bus, ttlMs = usualTtlMs } = options;
  const nowMs = () => performance.now();
  if (cluster !== undefined)
    return new KubernetesLease({ ...cluster, name, candidate, ttlMs, nowMs, wallClockMs: Date.now });
  const values = await bus.keyValue("duties", { ttlMs });
  return new Lease({ values, key: name, holder: candidate.holder, ttlMs, nowMs });
}
