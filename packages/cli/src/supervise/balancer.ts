/**
 * One address for several replicas on this host: each connection goes to the replica with the fewest, and a replica that
 * refuses connections is passed over. See docs/decisions/0110-replicas-behind-a-balancer.md.
 */
import { connect, createServer, type Server, type Socket } from "node:net";
import { listen } from "@flotilla/runtime";
import type { Front } from "./instances.ts";

export interface Balancer extends AsyncDisposable {
  readonly port: number;
  /** Open connections, by the port of the replica. */
  connections(): ReadonlyMap<number, number>;
}

const host = "127.0.0.1";

/** @throws RuntimeError PORT_IN_USE */
export async function startBalancer({ port, targets }: Pick<Front, "port" | "targets">): Promise<Balancer> {
  const open = new Map<number, Set<Socket>>(targets.map((target) => [target, new Set<Socket>()]));
  const downstreams = new Set<Socket>();
  const server = createServer({ noDelay: true, pauseOnConnect: true }, (downstream) => {
    downstreams.add(downstream);
    downstream.on("error", () => downstream.destroy());
    downstream.once("close", () => downstreams.delete(downstream));
    forward(downstream, byLoad(open), open);
  });
  const bound = await listen(server, { port, host, setting: "--xds-port" });
  return {
    port: bound,
    connections: () => new Map([...open].map(([target, sockets]) => [target, sockets.size])),
    [Symbol.asyncDispose]: () => close(server, downstreams),
  };
}

/** Those with the fewest connections first. */
function byLoad(open: ReadonlyMap<number, ReadonlySet<Socket>>): readonly number[] {
  return [...open].sort(([, a], [, b]) => a.size - b.size).map(([target]) => target);
}

/** To the first of `targets` that accepts; the client is closed when none does. */
function forward(
  downstream: Socket,
  [target, ...others]: readonly number[],
  open: ReadonlyMap<number, Set<Socket>>,
): void {
  if (target === undefined || downstream.destroyed) {
    downstream.destroy();
    return;
  }
  const upstream = connect({ host, port: target, noDelay: true });
  // Counted while it connects: of many that come together each counts for the next.
  open.get(target)?.add(upstream);
  upstream.once("close", () => open.get(target)?.delete(upstream));
  // Also while it connects: a client that gave up, and a balancer that closes, leave nothing behind.
  downstream.once("close", () => upstream.destroy());
  const onRefused = () => forward(downstream, others, open);
  upstream.once("error", onRefused);
  upstream.once("connect", () => {
    upstream.off("error", onRefused);
    upstream.on("error", () => upstream.destroy());
    upstream.once("close", () => downstream.destroy());
    downstream.pipe(upstream).pipe(downstream);
  });
}

/** A server is closed when its last connection is: those whose replica has not accepted yet count too. */
async function close(server: Server, downstreams: ReadonlySet<Socket>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  for (const socket of downstreams) socket.destroy();
  await promise;
}
