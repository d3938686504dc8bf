export type { Bus, BusItem, BusState, FollowOptions, OutgoingMessage, StoredMessage } from "./bus.ts";
export { type ConnectOptions, connectBus } from "./connect.ts";
export { BusError, type BusErrorCode } from "./errors.ts";
export type { KeyValue, KeyValueEntry, KeyValueOptions } from "./key-value.ts";
export { Lease, type LeaseOptions } from "./lease.ts";
export { createPublisher, type Kept, type Occasion, type Publisher, type PublisherOptions } from "./publisher.ts";
export { createSeal, type Seal } from "./seal.ts";
export { type SubscribeOptions, type SubscriberItem, subscribe } from "./subscriber.ts";
export { decodeChange, encodeChange, filters, keyText } from "./topics.ts";
