/** Connections that send nothing, as a client opens to exhaust a server's connections. */
import { connect, type Socket, type TcpNetConnectOpts } from "node:net";

/** Fewer than the queue of a listening socket holds: the kernel drops those beyond it, and their next attempts come after 1, 3 and 7 s. */
const atOnce = 100;

/** Opens so many connections, a few at a time. Those that the server has ended are `closed`. */
export async function openSilent(to: TcpNetConnectOpts, count: number): Promise<readonly Socket[]> {
  const sockets: Socket[] = [];
  while (sockets.length < count) {
    const next = Array.from({ length: Math.min(atOnce, count - sockets.length) }, () =>
      connect(to)
        .on("error", () => undefined)
        .resume(),
    );
    sockets.push(...next);
    await Promise.all(next.map(isDecided));
  }
  return sockets;
}

function isDecided(socket: Socket): Promise<unknown> {
  return new Promise((resolve) => socket.once("connect", resolve).once("close", resolve));
}
