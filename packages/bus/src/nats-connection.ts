/** Connects to NATS servers, however long they are away, and keeps connecting. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { delay } from "@flotilla/runtime";
import { type ConnectionOptions, connect, type NatsConnection } from "nats";
import { connectionOptions, type NatsConnectOptions, retryMs } from "./nats-options.ts";

const logAgainMs = 30_000;

/** @throws BusError BUS_CONNECT when the URL cannot be read; the reason of `stop` */
export async function connectUntilAborted(options: NatsConnectOptions, stop: AbortSignal): Promise<NatsConnection> {
  const settings = connectionOptions(options);
  const { log, onAway } = options;
  return retryUntilAborted(
    () => connect(settings),
    { what: `nats at ${settings.servers.join(", ")}`, log, onAway },
    stop,
  );
}

/**
 * Closes a turn later: the library takes its listeners off the socket at once, and what was written to a server that is going
 * fails after that, which then ends the process.
 */
export async function closeConnection(connection: NatsConnection): Promise<void> {
  await nextTurn();
  await connection.close();
}

/** The client library keeps the options of a connection, and does not show them in its types. */
export function inboxPrefixOf(connection: NatsConnection): string | undefined {
  return (connection as NatsConnection & { readonly options?: ConnectionOptions }).options?.inboxPrefix;
}

/** Tries until it succeeds; logs the first failure and then one in a while. */
export async function retryUntilAborted<T>(
  attempt: () => Promise<T>,
  { what, log, onAway }: { readonly what: string } & Pick<NatsConnectOptions, "log" | "onAway">,
  stop: AbortSignal,
): Promise<T> {
  for (let loggedAt = Number.NEGATIVE_INFINITY; ; ) {
    stop.throwIfAborted();
    try {
      return await attempt();
    } catch (error) {
      if (loggedAt === Number.NEGATIVE_INFINITY) onAway?.();
      if (performance.now() - loggedAt > logAgainMs) {
        loggedAt = performance.now();
        log.warn(`${what} unreachable, waiting for it`, {
          reason: error instanceof Error ? error.message : String(error),
        });
      }
      await delay(retryMs, stop);
    }
  }
}
