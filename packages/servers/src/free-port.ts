/** Ports that nobody listens on. Somebody may take one before its user does: who starts a server tries again. */
import { randomInt } from "node:crypto";
import { createServer } from "node:net";
import { ServersError } from "./errors.ts";

export function freePort(): Promise<number> {
  return freePorts(1);
}

/**
 * The first of `count` ports in a row. They lie below the range from which systems give ports to callers, so that no
 * connection takes one of them in the meantime.
 */
export async function freePorts(count: number): Promise<number> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const first = randomInt(lowest, highest - count);
    const ports = Array.from({ length: count }, (_, i) => first + i);
    const free = await Promise.all(ports.map(listenOnce));
    if (free.every((port) => port !== undefined)) return first;
  }
  throw new ServersError("SERVER_FAILED", `no ${count} ports in a row are free`);
}

const attempts = 50;
const lowest = 20_000;
const highest = 32_000;

/** The port that was listened on for a moment; undefined when it is in use. */
async function listenOnce(wanted: number): Promise<number | undefined> {
  const server = createServer();
  const isListening = await new Promise<boolean>((done) => {
    server.once("error", () => done(false));
    server.listen(wanted, "127.0.0.1", () => done(true));
  });
  if (!isListening) return undefined;
  const address = server.address();
  await new Promise<void>((done) => server.close(() => done()));
  return address === null || typeof address === "string" ? undefined : address.port;
}
