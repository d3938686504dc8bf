export {
  createStoreCredentials,
  type StoreCredentials,
  type StoreService,
  storeRulesOf,
  storeServices,
} from "./access.ts";
export { entryHash } from "./entry-codec.ts";
export { StateError, type StateErrorCode } from "./errors.ts";
export { type OpenOptions, openStore } from "./open-store.ts";
export type { ReplicaReport, Snapshot, SnapshotChange, SnapshotStore, StoreState } from "./snapshot-store.ts";
