/**
 * Bounds the connections of one server: each costs memory and a file descriptor of a process whose other ports need them too. The address with the
 * most loses its oldest one that waits for nothing, so that a client that opens thousands closes its own and keeps no probe out.
 */
import type { Server, Socket } from "node:net";

export interface ConnectionBounds {
  readonly maxPerAddress: number;
  readonly maxInAll: number;
}

/** @param isBusy the server works on an answer for this connection: it closes last */
export function boundConnections(
  server: Server,
  { maxPerAddress, maxInAll }: ConnectionBounds,
  isBusy: (socket: Socket) => boolean,
): void {
  /** In the order in which they came. */
  const byAddress = new Map<string, Set<Socket>>();
  let inAll = 0;
  server.on("connection", (socket: Socket) => {
    const address = socket.remoteAddress ?? "";
    const sockets = byAddress.get(address) ?? new Set();
    byAddress.set(address, sockets.add(socket));
    inAll++;
    const leave = (gone: Socket): void => {
      if (!sockets.delete(gone)) return;
      inAll--;
      if (sockets.size === 0) byAddress.delete(address);
    };
    socket.once("close", () => leave(socket));
    if (sockets.size > maxPerAddress) endOldest(sockets, isBusy);
    else if (inAll > maxInAll) endOldest(largestOf(byAddress), isBusy);
  });
}

function endOldest(sockets: ReadonlySet<Socket>, isBusy: (socket: Socket) => boolean): void {
  let oldest: Socket | undefined;
  for (const socket of sockets) {
    if (socket.destroyed) continue;
    oldest ??= socket;
    if (isBusy(socket)) continue;
    socket.destroy();
    return;
  }
  oldest?.destroy();
}

function largestOf(byAddress: ReadonlyMap<string, ReadonlySet<Socket>>): ReadonlySet<Socket> {
  let largest: ReadonlySet<Socket> = new Set();
  for (const sockets of byAddress.values()) if (sockets.size > largest.size) largest = sockets;
  return largest;
}
