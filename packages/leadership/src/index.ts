export type { Candidate } from "./candidate.ts";
export { duties } from "./duties.ts";
export { type DutyLease, type DutyLeaseOptions, dutyLease } from "./duty-lease.ts";
export { KubernetesLease, type KubernetesLeaseOptions } from "./kubernetes-lease.ts";
export { Leadership, type LeadershipOptions } from "./leadership.ts";
