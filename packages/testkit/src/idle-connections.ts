/** Connections that are opened and left idle, as a client opens to exhaust a server's connections. */
import type { Socket } from "node:net";

export interface IdleConnections extends Disposable {
  /** How many the server has not ended. */
  left(): number;
}

export interface IdleOptions {
  /** Shows that a connection is as far as it will come: `connect` unless given. */
  readonly event?: "connect" | "secureConnect" | "data";
  /**
   * 100 unless given: fewer than the queue of a listening socket holds. The kernel drops those beyond it, and their next attempts come after
   * 1, 3 and 7 s.
   */
  readonly atOnce?: number;
}

/** Opens so many connections, a few at a time. */
export async function openIdle(
  open: () => Socket,
  count: number,
  { event = "connect", atOnce = 100 }: IdleOptions = {},
): Promise<IdleConnections> {
  const sockets: Socket[] = [];
  const idle = {
    left: () => sockets.filter(({ closed }) => !closed).length,
    [Symbol.dispose]: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
  while (sockets.length < count) {
    const next = Array.from({ length: Math.min(atOnce, count - sockets.length) }, () =>
      open()
        .on("error", () => undefined)
        .resume(),
    );
    sockets.push(...next);
    await Promise.all(next.map((socket) => new Promise((done) => socket.once(event, done).once("close", done))));
  }
  return idle;
}
