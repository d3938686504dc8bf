/** Copies of streams in a cluster of NATS servers: raised to the setting, never lowered below what an operator chose. */
import type { Logger } from "@flotilla/runtime";
import type { JetStreamManager, StreamConfig, StreamInfo } from "nats";

export interface ReplicaOptions {
  readonly manager: JetStreamManager;
  /** The smallest number of copies; BUS_REPLICAS. */
  readonly replicas: number;
  readonly log: Logger;
}

/**
 * Brings a stream to the wanted settings and number of copies. A cluster that cannot hold that many copies now keeps the stream as it
 * is, with a warning: a service that works with fewer copies is better than none. The next reconnect tries again.
 */
export async function updateStream(
  { config }: Pick<StreamInfo, "config">,
  wanted: Partial<StreamConfig>,
  { manager, replicas, log }: ReplicaOptions,
): Promise<void> {
  const { name, num_replicas: existing } = config;
  const hasWantedSettings = Object.entries(wanted).every(([key, value]) => config[key as keyof StreamConfig] === value);
  if (!hasWantedSettings) await manager.streams.update(name, { ...config, ...wanted });
  if (existing >= replicas) return;
  try {
    await manager.streams.update(name, { ...config, ...wanted, num_replicas: replicas });
    log.info("stream replicas raised", { stream: name, from: existing, to: replicas });
  } catch (error) {
    log.warn("stream replicas not raised", { stream: name, from: existing, to: replicas, error });
  }
}
