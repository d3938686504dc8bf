/** One process of the mesh has it at a time: a Lease object where there is a cluster, else a value on the bus. */
import { type Bus, Lease } from "@flotilla/bus";
import type { KubeApi } from "@flotilla/kube-api";
import { flag } from "@flotilla/runtime";
import type { Candidate } from "./candidate.ts";
import { KubernetesLease } from "./kubernetes-lease.ts";

/** A lease of one duty, wherever it is stored. */
export interface DutyLease {
  /** As far as is known here: false well before somebody else can have it. */
  readonly isHeld: boolean;
  /** How long it is held unless it is renewed; 0 when it is not. */
  readonly heldForMs: number;
  /** Takes or keeps it; to be called several times in `ttlMs` / 2. False when somebody else has it. @throws KubeError, BusError */
  hold(): Promise<boolean>;
  /** Somebody else may have it at once. @throws KubeError, BusError */
  release(): Promise<void>;
}

/** The election of the replica that has a duty in a cluster. */
export const electionSettings = {
  electsLeaders: flag({
    env: "ENABLE_LEADER_ELECTION",
    default: true,
    sentence:
      "Replicas elect the one that has a duty in the cluster; without it each has every duty, which is for a single replica.",
  }),
} as const;

/** The lock and the candidate for a lease in a cluster; `ttlMs` as istiod's unless given. */
export interface ClusterLeaseOptions {
  /** One of `duties`. */
  readonly name: string;
  readonly candidate: Candidate;
  readonly api: KubeApi;
  /** Of the control plane. */
  readonly namespace: string;
  /** As istiod's, by default. */
  readonly ttlMs?: number;
  /** False: this process has the duty, and looks at no Lease. */
  readonly electsLeaders?: boolean;
}

/** The duty, and the cluster or the bus that stores its lease. */
export interface DutyLeaseOptions extends Pick<ClusterLeaseOptions, "name" | "candidate" | "ttlMs" | "electsLeaders"> {
  /** Undefined where there is no cluster. */
  readonly cluster: Pick<ClusterLeaseOptions, "api" | "namespace"> | undefined;
  readonly bus: Bus;
}

const usualTtlMs = 30_000;
const nowMs = () => performance.now();

/** For a duty that only a cluster has. */
export function leaseOfCluster({ ttlMs = usualTtlMs, electsLeaders, ...options }: ClusterLeaseOptions): DutyLease {
  if (electsLeaders === false)
    return {
      isHeld: true,
      heldForMs: Number.POSITIVE_INFINITY,
      hold: async () => true,
      release: async () => undefined,
    };
  return new KubernetesLease({ ...options, ttlMs, nowMs, wallClockMs: Date.now });
}

/** Opens the lease of a duty: in the cluster where there is one, so that istiods respect it, else on the bus. */
export async function dutyLease({ electsLeaders = true, ...options }: DutyLeaseOptions): Promise<DutyLease> {
  const { name, candidate, cluster, bus, ttlMs } = options;
  if (cluster !== undefined)
    return leaseOfCluster({ ...cluster, name, candidate, electsLeaders, ...(ttlMs && { ttlMs }) });
  const values = await bus.keyValue("duties", { ttlMs: ttlMs ?? usualTtlMs });
  const clocks = { nowMs, wallClockMs: Date.now };
  return new Lease({ values, key: name, holder: candidate.holder, ttlMs: ttlMs ?? usualTtlMs, ...clocks });
}
