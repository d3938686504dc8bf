/** Chooses the implementation by the URL: `nats://…` or `embedded:NAME`. */
import type { Logger } from "@flotilla/runtime";
import { authenticatedBus } from "./authentication.ts";
import type { Bus } from "./bus.ts";
import { connectEmbedded } from "./embedded-bus.ts";
import { BusError } from "./errors.ts";
import { connectNats } from "./nats-bus.ts";
import type { Seal } from "./seal.ts";
import { SetAside } from "./set-aside.ts";

/** Address and identity of a connection; times are milliseconds since 1970. */
export interface ConnectOptions {
  readonly url: string;
  readonly clientName: string;
  readonly log: Logger;
  readonly nowMs?: () => number;
  /** Copies of streams and buckets in a cluster of NATS servers, at least; 1 unless given. */
  readonly replicas?: number;
  /** Called whenever following goes on where it was, after deliveries were missing or the servers were away. */
  readonly onResumed?: () => void;
  /** Called at the first attempt to connect that failed; others follow. */
  readonly onAway?: () => void;
  /** Where values are noted that cannot be read; one of its own unless given. */
  readonly setAside?: SetAside;
  /** With it, messages and values are authenticated; others are set aside. */
  readonly seal?: Seal | undefined;
}

/** Waits for servers that are away. @throws BusError BUS_CONNECT when the URL is neither; the reason of `stop` */
export async function connectBus(options: ConnectOptions, stop: AbortSignal): Promise<Bus> {
  const { seal, nowMs = Date.now } = options;
  const bus = await connectPlain(options, stop);
  return seal === undefined ? bus : authenticatedBus(bus, seal, nowMs);
}

async function connectPlain(
  { url, clientName, log, nowMs = Date.now, replicas = 1, onResumed = () => undefined, ...given }: ConnectOptions,
  stop: AbortSignal,
): Promise<Bus> {
  const setAside = given.setAside ?? new SetAside({ log, nowMs });
  const embedded = /^embedded:(.+)$/.exec(url)?.[1];
  if (embedded !== undefined) return connectEmbedded(embedded, nowMs, setAside);
  if (!url.includes("://")) throw new BusError("BUS_CONNECT", `"${url}" is neither nats://host:port nor embedded:NAME`);
  const { onAway } = given;
  return connectNats({ url, clientName, log, nowMs, replicas, onResumed, onAway, setAside }, stop);
}
