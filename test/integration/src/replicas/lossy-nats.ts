/**
 * Stands between a service and NATS and drops, or swaps with the next, deliveries of the stream, the same ones in every run: what
 * a bad network and a server that fails over do. Everything else passes.
 */
import { connect, createServer, type Socket } from "node:net";

export interface LossyNats extends AsyncDisposable {
  readonly url: string;
  /** Deliveries that were dropped, and that were swapped with the next. */
  readonly counts: { lost: number; late: number };
}

/**
 * One delivery of six is dropped and one swapped with the next. Not alternately: a reader that is sent as many deliveries each time it
 * begins again would lose the same one for ever.
 */
function* fates(): Generator<"passes" | "is lost" | "is late", never> {
  // The generator of "Numerical Recipes": its high bits are even enough.
  for (let state = 1; ; state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) {
    const side = Math.floor((state / 2 ** 32) * 6);
    yield side === 1 ? "is lost" : side === 3 ? "is late" : "passes";
  }
}

export interface LossyOptions {
  /** Of the real server. */
  readonly port: number;
}

export async function startLossyNats({ port }: LossyOptions): Promise<LossyNats> {
  const counts = { lost: 0, late: 0 };
  const sockets = new Set<Socket>();
  const schedule = fates();
  const server = createServer((client) => {
    const upstream = connect({ host: "127.0.0.1", port });
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => socket.destroy());
      socket.once("close", () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.pipe(upstream);
    let rest: Buffer = Buffer.alloc(0);
    let late: Buffer | undefined;
    upstream.on("data", (bytes) => {
      const read = frames(Buffer.concat([rest, bytes]));
      rest = read.rest;
      for (const { frame, isDelivery } of read.frames) {
        const fate = isDelivery ? schedule.next().value : "passes";
        if (fate === "is lost") counts.lost++;
        // One that waits is not replaced by another that comes late.
        else if (fate === "is late" && late === undefined) late = frame;
        else {
          client.write(frame);
          if (late === undefined || !isDelivery) continue;
          client.write(late);
          counts.late++;
          late = undefined;
        }
      }
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const address = server.address();
  return {
    url: `nats://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`,
    counts,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((done) => server.close(() => done()));
    },
  };
}

interface Frame {
  readonly frame: Buffer;
  /** A message of the stream, not an answer to a request. */
  readonly isDelivery: boolean;
}

/** The server's side of the NATS protocol: lines, of which MSG and HMSG are followed by as many bytes as they state. */
function frames(bytes: Buffer): { readonly frames: readonly Frame[]; readonly rest: Buffer } {
  const found: Frame[] = [];
  let at = 0;
  for (;;) {
    const lineEnd = bytes.indexOf("\r\n", at);
    if (lineEnd === -1) break;
    const line = bytes.toString("latin1", at, lineEnd);
    const isMessage = /^H?MSG /i.test(line);
    const size = isMessage ? Number(line.slice(line.lastIndexOf(" ") + 1)) + 2 : 0;
    const end = lineEnd + 2 + size;
    if (end > bytes.length) break;
    found.push({ frame: bytes.subarray(at, end), isDelivery: isMessage && line.includes(" $JS.ACK.") });
    at = end;
  }
  return { frames: found, rest: bytes.subarray(at) };
}
