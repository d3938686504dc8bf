/** The one stream of the fleet: made when it is not there, brought to our settings when it is. */
import {
  AckPolicy,
  DeliverPolicy,
  DiscardPolicy,
  type JetStreamManager,
  NatsError,
  nanos,
  nuid,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
  type StreamInfo,
} from "nats";
import { horizonSubject, type Mark, type MarkedPlace, subjectRoot } from "./bus.ts";
import { boundSettings, isNotFound, lastMessage, type ReplicaOptions, updateStream } from "./jetstream.ts";

/** Name of the fleet's stream in JetStream. */
export const streamName = "FLOTILLA";

/** Life of a consumer that was only made for its count, in milliseconds. */
const unusedMs = 1_000;

/** The server's word for a message that is not there. */
const noSuchSequence = 10_043;

/** The stream at one moment. Another epoch means that it was created anew. */
export interface StreamLook {
  readonly epoch: string;
  /** The sequence of the last message. */
  readonly last: number;
  readonly lastStoredAtMs: number;
}

/** Several services may do this at once. */
export async function openStream(options: ReplicaOptions): Promise<StreamLook> {
  const { manager, replicas } = options;
  const settings = {
    subjects: [`${subjectRoot}.>`],
    storage: StorageType.File,
    retention: RetentionPolicy.Limits,
    max_msgs_per_subject: 1,
    discard: DiscardPolicy.Old,
    // A retry within this time is recognised as such by the server.
    duplicate_window: nanos(120_000),
    allow_direct: true,
  };
  const found = await infoOf(manager);
  const bounds = boundSettings(streamName);
  const info = found ?? (await create(manager, { ...settings, ...bounds.all, num_replicas: replicas }));
  await updateStream(info, { max_msgs_per_subject: 1, ...bounds.changeable }, options);
  return { epoch: String(info.created), last: info.state.last_seq, lastStoredAtMs: Date.parse(info.state.last_ts) };
}

/** The highest sequence that was forgotten, 0 when none was. One that cannot be true would make every reader begin again for ever. */
export async function horizonOf(manager: JetStreamManager): Promise<number> {
  const message = await lastMessage(manager, streamName, horizonSubject);
  const horizon = message === undefined ? 0 : Number(new TextDecoder().decode(message.data));
  return Number.isSafeInteger(horizon) && horizon >= 0 && horizon < (message?.seq ?? 0) ? horizon : 0;
}

/** The present content of a mark's place. */
export async function markedPlace(manager: JetStreamManager, { sequence }: Mark): Promise<MarkedPlace> {
  try {
    return Date.parse((await manager.streams.getMessage(streamName, { seq: sequence })).timestamp);
  } catch (error) {
    if (isNotFound(error)) return "replaced";
    throw error;
  }
}

/**
 * The number of messages under a filter: what a new consumer has before it, for the server's own counts by subject are a list of all
 * subjects. The consumer is not read from, and the server removes it.
 */
export async function countOf(manager: JetStreamManager, filter: string): Promise<number> {
  const { num_pending } = await manager.consumers.add(streamName, {
    // With a name the subject of the request has the filter too, by which NATS decides whether a service may read it.
    ...{ name: nuid.next(), filter_subject: filter, deliver_policy: DeliverPolicy.All },
    ...{ ack_policy: AckPolicy.None, mem_storage: true, num_replicas: 1, inactive_threshold: nanos(unusedMs) },
  });
  return num_pending;
}

/** For good. One that is gone already is no failure. */
export async function removeMessage(manager: JetStreamManager, sequence: number): Promise<void> {
  try {
    await manager.streams.deleteMessage(streamName, sequence, false);
  } catch (error) {
    const isGone = error instanceof NatsError && error.api_error?.err_code === noSuchSequence;
    if (!isGone && !isNotFound(error)) throw error;
  }
}

async function infoOf(manager: JetStreamManager): Promise<StreamInfo | undefined> {
  try {
    return await manager.streams.info(streamName);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

async function create(manager: JetStreamManager, wanted: Partial<StreamConfig>): Promise<StreamInfo> {
  try {
    return await manager.streams.add({ name: streamName, ...wanted });
  } catch (error) {
    // Another service made it between our question and our order.
    const info = await infoOf(manager);
    if (info === undefined) throw error;
    return info;
  }
}
