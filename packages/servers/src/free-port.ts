/**
 * Ports without a listener, each given to one process only: each process claims blocks of ports, which it holds by
 * listening on their first one as long as it lives.
 */
import { randomInt } from "node:crypto";
import { createServer, type Server } from "node:net";
import { ServersError } from "./errors.ts";

const attempts = 50;
/** Below the range from which systems give ports to callers, so that no connection takes one of them in the meantime. */
const lowest = 20_000;
const highest = 32_000;
const blockPorts = 64;

interface Block {
  /** The first port that has not been given out. */
  next: number;
  readonly end: number;
}

let block: Block = { next: 0, end: 0 };
/** Callers that find the block used up wait for the same new one. */
let claiming: Promise<void> | undefined;

/** A port that no process listens on and that this function gives to no other process meanwhile. */
export function freePort(): Promise<number> {
  return freePorts(1);
}

/** The first of `count` ports in a row, less than a block of 64. @throws ServersError SERVER_FAILED */
export async function freePorts(count: number): Promise<number> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const first = take(count);
    if (first === undefined) {
      claiming ??= claimBlock();
      await claiming;
      continue;
    }
    const ports = Array.from({ length: count }, (_, i) => first + i);
    const free = await Promise.all(ports.map(isFree));
    if (!free.includes(false)) return first;
  }
  throw new ServersError("SERVER_FAILED", `no ${count} ports in a row are free`);
}

/** At once, so that no other caller in this process is given them. */
function take(count: number): number | undefined {
  if (block.next + count > block.end) return undefined;
  const first = block.next;
  block.next += count;
  return first;
}

/** Nothing is claimed when the block is another process's. */
async function claimBlock(): Promise<void> {
  const first = lowest + blockPorts * randomInt(Math.floor((highest - lowest) / blockPorts));
  const guard = await listenOn(first);
  guard?.unref();
  if (guard !== undefined) block = { next: first + 1, end: first + blockPorts };
  claiming = undefined;
}

async function isFree(port: number): Promise<boolean> {
  const server = await listenOn(port);
  if (server === undefined) return false;
  await new Promise<void>((done) => server.close(() => done()));
  return true;
}

/** Undefined when the port is in use. */
function listenOn(port: number): Promise<Server | undefined> {
  const server = createServer();
  return new Promise((done) => {
    server.once("error", () => done(undefined));
    server.listen(port, "127.0.0.1", () => done(server));
  });
}
