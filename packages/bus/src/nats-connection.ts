/** Connects to NATS servers, however long they are away, and keeps connecting. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { delay, type Logger } from "@flotilla/runtime";
import {
  type Authenticator,
  type ConnectionOptions,
  connect,
  credsAuthenticator,
  type NatsConnection,
  nkeyAuthenticator,
} from "nats";
import { inboxPrefix } from "./access.ts";
import { BusError } from "./errors.ts";

/** Servers, TLS and credentials of a connection to NATS. */
export interface NatsConnectOptions {
  /**
   * `nats://host:port` or `tls://…`, with `user:password@` or `token@` before the host; several servers separated by commas.
   * Options after `?`, of any of them: `certificates=DIRECTORY` (tls.crt, tls.key and ca.crt: a client certificate, and the root of
   * the servers), `ca=FILE` (the root alone), `credentials=FILE` (a NATS credentials file), `nkey=FILE` (the seed of an NKey). Files are
   * read for each connection.
   */
  readonly url: string;
  /** Name of this connection on the server's pages, and of the subjects below which it gets its answers. */
  readonly clientName: string;
  readonly log: Logger;
  /** Called at the first attempt that failed. */
  readonly onAway?: (() => void) | undefined;
}

/** The pause between two attempts to connect, in milliseconds. */
export const retryMs = 250;
const logAgainMs = 30_000;

/** @throws BusError BUS_CONNECT when the URL cannot be read; the reason of `stop` */
export async function connectPatiently(options: NatsConnectOptions, stop: AbortSignal): Promise<NatsConnection> {
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
        log.warn(`${what} is away, waiting for it`, { reason: error instanceof Error ? error.message : String(error) });
      }
      await delay(retryMs, stop);
    }
  }
}

function connectionOptions({
  url,
  clientName,
}: NatsConnectOptions): ConnectionOptions & { readonly servers: string[] } {
  const addresses = url.split(",").map((address) => parse(address.trim()));
  const [{ username = "", password = "", protocol = "" } = {}] = addresses;
  const user = decodeURIComponent(username);
  const option = (name: string): string | undefined =>
    addresses.map(({ searchParams }) => searchParams.get(name)).find((value) => value !== null) ?? undefined;
  const [credentials, nkey] = [option("credentials"), option("nkey")];
  const files = { directory: option("certificates"), root: option("ca") };
  return {
    servers: addresses.map(({ host }) => host),
    name: clientName,
    inboxPrefix: inboxPrefix(clientName),
    maxReconnectAttempts: -1,
    reconnectTimeWait: retryMs,
    reconnectJitter: 100,
    pingInterval: 10_000,
    timeout: 5_000,
    // A stack for each message, should it fail, costs more than to send it.
    noAsyncTraces: true,
    ...(protocol === "tls:" && { tls: tlsOf(files) }),
    ...(password !== "" ? { user, pass: decodeURIComponent(password) } : user !== "" && { token: user }),
    ...(credentials !== undefined && { authenticator: credentialsIn(credentials) }),
    ...(nkey !== undefined && { authenticator: nkeyAuthenticator(() => readSeed(nkey)) }),
  };
}

function readSeed(file: string): Uint8Array {
  return new TextEncoder().encode(readFileSync(file, "utf8").trim());
}

/** Read for each connection, since the file may be replaced by one with another key. */
function credentialsIn(file: string): Authenticator {
  return (nonce) => credsAuthenticator(readFileSync(file))(nonce);
}

/**
 * Named as in a Secret of type kubernetes.io/tls, and as `flotilla certificate` writes them. Read anew for each connection, and at
 * once: while the client library waits for a file nobody listens to the socket, whose loss then ends the process.
 */
function tlsOf({ directory, root }: { readonly directory: string | undefined; readonly root: string | undefined }) {
  const text = (file: string): string => readFileSync(file, "utf8");
  const roots =
    root !== undefined || directory !== undefined
      ? {
          get ca() {
            return text(root ?? join(directory ?? "", "ca.crt"));
          },
        }
      : {};
  if (directory === undefined) return roots;
  // Defined on the object itself: a spread would read the files once and keep them.
  return Object.defineProperties(roots, {
    cert: { enumerable: true, get: () => text(join(directory, "tls.crt")) },
    key: { enumerable: true, get: () => text(join(directory, "tls.key")) },
  });
}

function parse(address: string): URL {
  if (!URL.canParse(address) || new URL(address).host === "")
    throw new BusError("BUS_CONNECT", `"${withoutUser(address)}" is not nats://host:port`);
  return new URL(address);
}

/** For messages: what stands before the host may be a password. */
function withoutUser(address: string): string {
  const [from, to] = [address.indexOf("//"), address.lastIndexOf("@")];
  return from === -1 || to < from ? address : `${address.slice(0, from + 2)}${address.slice(to + 1)}`;
}
