/** Attacks that go on until they are ended: what the server closes is opened again. */
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { http2Floods } from "./http2-floods.ts";
import { type FloodTarget, sendFlood } from "./send-flood.ts";
import { beginHandshakes, type HandshakeCount } from "./tls-attacks.ts";

/** Floods that keep their connection are held for this long. */
const heldMs = 500;
const pauseMs = 20;

const silent = 300;
const bodies = 4;
const handshakes = 8;

/** Floods of HTTP/2, silent connections and handshakes at once; gives how many there were of the kind with the fewest. */
export function everythingOverHttp2(target: FloodTarget, heldUntil: Promise<unknown>): Promise<HandshakeCount> {
  return atOnce({ floods: floodsInTurn(target, heldUntil), ...connections(target, heldUntil) });
}

/** Bodies without end, silent connections and handshakes at once; gives how many there were of the kind with the fewest. */
export function everythingOverHttp1(target: FloodTarget, heldUntil: Promise<unknown>): Promise<HandshakeCount> {
  return atOnce({ bodies: endlessBodies(target, bodies, heldUntil), ...connections(target, heldUntil) });
}

function connections(target: FloodTarget, heldUntil: Promise<unknown>): Attacks {
  const opened = silentConnections(target, silent, heldUntil);
  if (target.tls === false) return { silent: opened };
  return { silent: opened, handshakes: beginHandshakes(target, handshakes, heldUntil) };
}

type Attacks = Readonly<Record<string, Promise<HandshakeCount>>>;

async function atOnce(attacks: Attacks): Promise<HandshakeCount> {
  const kinds = await Promise.all(Object.entries(attacks).map(async ([kind, result]) => ({ kind, ...(await result) })));
  const reason = kinds.map(({ kind, done }) => `${done} ${kind}`).join(", ");
  return { done: Math.min(...kinds.map(({ done }) => done)), reason };
}

/** The floods of HTTP/2 one after the other, each over a connection of its own; gives how many there were. */
async function floodsInTurn(target: FloodTarget, heldUntil: Promise<unknown>): Promise<HandshakeCount> {
  const isOver = flagOf(heldUntil);
  let done = 0;
  for (let at = 0; !isOver(); at++) {
    const flood = http2Floods[at % http2Floods.length];
    if (flood === undefined) break;
    const result = await sendFlood(target, flood, pause(heldMs)).catch(() => undefined);
    if (result === undefined) await pause(pauseMs);
    else done++;
  }
  return ended(done);
}

/** Holds `count` connections that send nothing; gives how many were opened. */
function silentConnections(target: FloodTarget, count: number, heldUntil: Promise<unknown>): Promise<HandshakeCount> {
  const { port, localAddress = "127.0.0.1" } = target;
  return again(count, heldUntil, () => connect({ port, host: "127.0.0.1", localAddress }), "connect");
}

/** Sends bodies over HTTP/1.1 that never end, `count` at a time; gives how many were begun. */
function endlessBodies(target: FloodTarget, count: number, heldUntil: Promise<unknown>): Promise<HandshakeCount> {
  const { port, tls, path, localAddress = "127.0.0.1" } = target;
  const to = { port, host: "127.0.0.1", localAddress };
  const proof = typeof tls === "boolean" ? {} : tls;
  const open = (): Socket => (tls === false ? connect(to) : connectTls({ ...to, ...proof, rejectUnauthorized: false }));
  const head = `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`;
  const chunk = Buffer.concat([Buffer.from("10000\r\n"), Buffer.alloc(0x1_00_00, "x"), Buffer.from("\r\n")]);
  return again(count, heldUntil, open, tls === false ? "connect" : "secureConnect", (socket) => {
    socket.write(head);
    const more = (): void => {
      while (!socket.destroyed && socket.write(chunk));
    };
    socket.on("drain", more);
    more();
  });
}

/** Keeps `count` connections, each replaced when it ends; gives how many came about. */
async function again(
  count: number,
  heldUntil: Promise<unknown>,
  open: () => Socket,
  event: "connect" | "secureConnect",
  begin: (socket: Socket) => void = () => undefined,
): Promise<HandshakeCount> {
  const isOver = flagOf(heldUntil);
  const sockets = new Set<Socket>();
  void heldUntil.finally(() => {
    for (const socket of sockets) socket.destroy();
  });
  let done = 0;
  const hold = async (): Promise<void> => {
    while (!isOver()) {
      const socket = open();
      sockets.add(socket);
      socket.on("error", () => undefined).resume();
      socket.once(event, () => {
        done++;
        begin(socket);
      });
      await new Promise<void>((resolve) => socket.once("close", () => resolve()));
      sockets.delete(socket);
      await pause(pauseMs);
    }
  };
  await Promise.all(Array.from({ length: count }, hold));
  return ended(done);
}

function flagOf(heldUntil: Promise<unknown>): () => boolean {
  let isOver = false;
  void heldUntil.finally(() => {
    isOver = true;
  });
  return () => isOver;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const ended = (done: number): HandshakeCount => ({ done, reason: "the client ended it" });
