export { type Candidate, isNewer } from "./candidate.ts";
export { duties } from "./duties.ts";
export {
  type ClusterLeaseOptions,
  type DutyLease,
  type DutyLeaseOptions,
  dutyLease,
  electionSettings,
  leaseOfCluster,
} from "./duty-lease.ts";
export type { KubernetesLeaseOptions } from "./kubernetes-lease.ts";
export { Leadership, type LeadershipOptions } from "./leadership.ts";
export { type ChangePublisher, PublishingDuty, type PublishingDutyOptions } from "./publishing-duty.ts";
