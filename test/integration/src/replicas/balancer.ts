/** A plain TCP balancer, as a Kubernetes Service is one: connections in turn, targets that refuse are passed over. */
import { connect, createServer, type Socket } from "node:net";

export interface Balancer extends AsyncDisposable {
  readonly port: number;
  /** Ports of the replicas. */
  readonly targets: Set<number>;
}

export async function startBalancer(): Promise<Balancer> {
  const targets = new Set<number>();
  const sockets = new Set<Socket>();
  let turn = 0;
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    return socket.once("close", () => sockets.delete(socket));
  };
  const server = createServer((downstream) => {
    keep(downstream);
    const order = [...targets];
    const first = turn++;
    const tryNext = (attempt: number): void => {
      const port = order[(first + attempt) % order.length];
      if (port === undefined || attempt === order.length) {
        downstream.destroy();
        return;
      }
      const upstream = keep(connect({ host: "127.0.0.1", port }));
      const onRefused = () => tryNext(attempt + 1);
      upstream.once("error", onRefused);
      upstream.once("connect", () => {
        upstream.off("error", onRefused);
        upstream.once("close", () => downstream.destroy());
        downstream.once("close", () => upstream.destroy());
        downstream.pipe(upstream).pipe(downstream);
      });
    };
    tryNext(0);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    targets,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((done) => server.close(() => done()));
    },
  };
}
