export {
  type BusCredentials,
  type BusPermissions,
  type BusService,
  type BusUser,
  busServices,
  createBusCredentials,
  natsAuthorization,
  permissionsOf,
} from "./access.ts";
export { type AttestOptions, attestEvery } from "./attest.ts";
export type { Bus, BusItem, BusState, FollowOptions, OutgoingMessage, StoredMessage } from "./bus.ts";
export { attestSettings, busReplicasSetting, busSettings, sealKeySetting } from "./bus-settings.ts";
export { type CompareOptions, differences, keyState } from "./compare.ts";
export { type ComparisonSchedule, compareWhenDue } from "./compare-when-due.ts";
export { type ConnectOptions, connectBus } from "./connect.ts";
export { type ConnectWithHealthOptions, connectWithHealth } from "./connect-with-health.ts";
export { BusError, type BusErrorCode } from "./errors.ts";
export { type KeyValue, type KeyValueEntry, type KeyValueOptions, readValue } from "./key-value.ts";
export { createPublisher } from "./keyed-publisher.ts";
export { type LastChange, type LastChangesOptions, lastChanges } from "./last-changes.ts";
export { Lease, type LeaseOptions } from "./lease.ts";
export { natsHealth } from "./nats-health.ts";
export { recordPublished } from "./published-spans.ts";
export type { Kept, Publisher, PublisherOptions, PublishOptions } from "./publisher.ts";
export { createSeal, readSeal, type Seal } from "./seal.ts";
export { SetAside, type SetAsideValue } from "./set-aside.ts";
export { type StoredStream, storedStreams } from "./stored-streams.ts";
export { type SubscribeOptions, type SubscriberItem, subscribe } from "./subscriber.ts";
export {
  type Digests,
  decodeChange,
  differingTopics,
  digestsOf,
  encodeChange,
  filters,
  type KeyState,
  keyText,
  RunningDigests,
  type TopicDigest,
} from "./topics.ts";
