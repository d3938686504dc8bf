/** Streams of a JetStream server as their leader has them: last messages, and the number of replicas. */

import { equalJson } from "@flotilla/model";
import type { Logger } from "@flotilla/runtime";
import {
  ErrorCode,
  type JetStreamManager,
  NatsError,
  nanos,
  type StoredMsg,
  type StreamConfig,
  type StreamInfo,
} from "nats";
import { boundsOf, maxIdleConsumerMs } from "./stored-streams.ts";

/** The sequence of the last message under any of the filters, 0 when there is none. */
export async function lastSequence(
  manager: JetStreamManager,
  stream: string,
  filters: readonly string[],
): Promise<number> {
  const messages = await Promise.all(filters.map((filter) => lastMessage(manager, stream, filter)));
  return Math.max(0, ...messages.map((message) => message?.seq ?? 0));
}

/** The last message under a filter; undefined when there is none. */
export async function lastMessage(
  manager: JetStreamManager,
  stream: string,
  filter: string,
): Promise<StoredMsg | undefined> {
  try {
    return await manager.streams.getMessage(stream, { last_by_subj: filter });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** There is no such message or stream. */
export function isNotFound(error: unknown): boolean {
  return error instanceof NatsError && (error.api_error?.code === 404 || error.code === "404");
}

/** The bounds of a stream as the server has them: those that can be changed later, and all. */
export function boundSettings(stream: string): {
  readonly changeable: Partial<StreamConfig>;
  readonly all: Partial<StreamConfig>;
} {
  const { maxBytes = -1, maxConsumers } = boundsOf(stream);
  const changeable = { max_bytes: maxBytes, consumer_limits: { inactive_threshold: nanos(maxIdleConsumerMs) } };
  return { changeable, all: { ...changeable, max_consumers: maxConsumers } };
}

/** The server denies the user permission. */
function isForbidden(error: unknown): boolean {
  return error instanceof NatsError && (error.code === ErrorCode.PermissionsViolation || error.isPermissionError());
}

/** The stream's manager and the wanted number of replicas. */
export interface ReplicaOptions {
  readonly manager: JetStreamManager;
  /** The smallest number of copies; BUS_REPLICAS. */
  readonly replicas: number;
  readonly log: Logger;
}

/**
 * Copies of streams in a cluster of NATS servers: raised to the setting, never lowered below what an operator chose. Brings
 * a stream to the wanted settings and number of copies. A cluster that cannot hold that many copies now keeps the stream as
 * it is, with a warning: a service that works with fewer copies is better than none. The next reconnect tries again.
 */
export async function updateStream(
  { config }: Pick<StreamInfo, "config">,
  wanted: Partial<StreamConfig>,
  { manager, replicas, log }: ReplicaOptions,
): Promise<void> {
  const { name, num_replicas: existing } = config;
  const hasWantedSettings = Object.entries(wanted).every(([key, value]) =>
    equalJson(config[key as keyof StreamConfig], value),
  );
  try {
    if (!hasWantedSettings) await manager.streams.update(name, { ...config, ...wanted });
  } catch (error) {
    if (!isForbidden(error)) throw error;
    log.debug("stream settings left to the services that may change them", { stream: name });
    return;
  }
  if (existing >= replicas) return;
  try {
    await manager.streams.update(name, { ...config, ...wanted, num_replicas: replicas });
    log.info("stream replicas raised", { stream: name, from: existing, to: replicas });
  } catch (error) {
    if (isForbidden(error)) return;
    log.warn("stream replicas not raised", { stream: name, from: existing, to: replicas, error });
  }
}
