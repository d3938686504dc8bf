/** How a connection to NATS is made: servers, TLS and credentials, out of its URL. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "@flotilla/runtime";
import { type Authenticator, type ConnectionOptions, credsAuthenticator, nkeyAuthenticator } from "nats";
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

/**
 * For the client library. Files are read when it connects. @throws BusError BUS_CONNECT when the URL cannot be read, without what may be a password
 */
export function connectionOptions({
  url,
  clientName,
}: Pick<NatsConnectOptions, "url" | "clientName">): ConnectionOptions & { readonly servers: string[] } {
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
 * once: while the client library waits for a file the socket has no listener, whose loss then ends the process.
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

/** For messages: the part before the host may be a password. */
function withoutUser(address: string): string {
  const [from, to] = [address.indexOf("//"), address.lastIndexOf("@")];
  return from === -1 || to < from ? address : `${address.slice(0, from + 2)}${address.slice(to + 1)}`;
}
