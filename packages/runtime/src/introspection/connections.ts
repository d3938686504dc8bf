/** The connections of this process, for the introspection pages: who is at the other end, and how much waits to be sent. */
import { Socket } from "node:net";

export interface ConnectionFacts {
  /** Of this process: `server` where the other end has connected to it. */
  readonly side: "client" | "server";
  /** `host:port` of both ends. */
  readonly local: string;
  readonly peer: string;
  readonly receivedBytes: number;
  readonly sentBytes: number;
  /** Written by this process and not yet taken by the system: the depth of its queue. */
  readonly waitingBytes: number;
}

/** Node has no documented list of its sockets; prom-client takes `nodejs_active_handles` from this one as well. */
interface ProcessWithHandles {
  _getActiveHandles(): readonly unknown[];
}

/** The one with the most that waits comes first; those over Unix sockets are left out. */
export function openConnections(): readonly ConnectionFacts[] {
  const handles = (process as unknown as ProcessWithHandles)._getActiveHandles();
  const sockets = handles.filter((handle) => handle instanceof Socket);
  return sockets.flatMap(factsOf).sort((a, b) => b.waitingBytes - a.waitingBytes || (a.peer < b.peer ? -1 : 1));
}

function factsOf(socket: Socket & { readonly server?: unknown }): readonly ConnectionFacts[] {
  const { localAddress, localPort, remoteAddress, remotePort, bytesRead, bytesWritten, writableLength } = socket;
  if (localAddress === undefined || remoteAddress === undefined) return [];
  return [
    {
      side: socket.server === undefined || socket.server === null ? "client" : "server",
      local: endOf(localAddress, localPort),
      peer: endOf(remoteAddress, remotePort),
      receivedBytes: bytesRead,
      sentBytes: bytesWritten - writableLength,
      waitingBytes: writableLength,
    },
  ];
}

function endOf(address: string, port: number | undefined): string {
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}
