export { createStoreCredentials, type StoreCredentials } from "./access.ts";
export type { Mac } from "./entry-codec.ts";
export { StateError, type StateErrorCode } from "./errors.ts";
export { type OpenOptions, openStore } from "./open-store.ts";
export type {
  Claim,
  ReplicaReport,
  Snapshot,
  SnapshotChange,
  SnapshotStore,
  StoreState,
  UnreadableValues,
} from "./snapshot-store.ts";
