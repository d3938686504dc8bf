/**
 * Accepts connections a few at a time. When thousands of proxies come back at once, their handshakes would otherwise run in
 * one turn of the event loop, and probes and open streams would wait for all of them.
 */
import { createServer, type Server, type Socket } from "node:net";

export interface PacedListenerOptions {
  /** Connections that may be starting at a time. */
  readonly maxStarting: number;
  /** A connection that has not started by then makes room: silent callers do not keep the others out. */
  readonly startingMs: number;
  /** Connections that may wait; more are closed at once, and their callers come back. */
  readonly maxWaiting: number;
  /** `started` tells that the expensive part is over. */
  readonly onConnection: (socket: Socket, started: () => void) => void;
  readonly onOverflow: (remoteAddress: string) => void;
}

export interface PacedListener {
  readonly server: Server;
  /** Closes those that wait: as nobody reads from them, they would not be seen to end. */
  closeWaiting(): void;
}

export function createPacedListener(options: PacedListenerOptions): PacedListener {
  const { maxStarting, maxWaiting, onOverflow } = options;
  const waiting = new Set<Socket>();
  let starting = 0;

  const handOn = (): void => {
    for (const socket of waiting) {
      if (starting >= maxStarting) return;
      waiting.delete(socket);
      socket.off("error", ignore);
      if (socket.destroyed) continue;
      starting++;
      start(socket, options, () => {
        starting--;
        // In a turn of its own: this one is spent on the connection that has just started.
        setImmediate(handOn);
      });
    }
  };
  const server = createServer({ pauseOnConnect: true }, (socket) => {
    if (waiting.size >= maxWaiting) {
      onOverflow(String(socket.remoteAddress));
      socket.destroy();
      return;
    }
    // A caller that gives up while it waits is no failure of ours.
    socket.on("error", ignore);
    socket.once("close", () => waiting.delete(socket));
    waiting.add(socket);
    handOn();
  });
  return {
    server,
    closeWaiting: () => {
      for (const socket of waiting) socket.destroy();
    },
  };
}

function start(socket: Socket, { onConnection, startingMs }: PacedListenerOptions, onStarted: () => void): void {
  let isOver = false;
  const started = (): void => {
    if (isOver) return;
    isOver = true;
    clearTimeout(timer);
    onStarted();
  };
  const timer = setTimeout(started, startingMs);
  socket.once("close", started);
  onConnection(socket, started);
}

function ignore(): void {
  // Its turn finds it destroyed.
}
