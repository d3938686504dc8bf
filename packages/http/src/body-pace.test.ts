/** Endless bodies share each turn of the event loop: a turn reads little, whether bodies are kept, refused or left unread. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { describe, it } from "node:test";
import { createHttpServer, readBody, sendText } from "./index.ts";

const mib = 1024 * 1024;
const answered = { status: 200, contentType: "text/plain", text: "answered" };

/** Counts the bytes that the HTTP parser reads in each turn of the event loop, before the server handles them. */
async function open(respond: (request: IncomingMessage) => Promise<unknown>) {
  const perTurn: number[] = [];
  let [bytes, before, isOver] = [0, 0, false];
  const sockets = new Set<Socket>();
  const turn = (): void => {
    bytes = [...sockets].reduce((sum, { bytesRead }) => sum + bytesRead, 0);
    perTurn.push(bytes - before);
    before = bytes;
    if (!isOver) setImmediate(turn);
  };
  const http = createHttpServer({
    ...{ drainMs: 0, failure: () => answered, onFailure: () => undefined },
    respond: async (request, response) => {
      await respond(request);
      sendText(response, answered);
    },
  });
  http.server.on("connection", (socket: Socket) => sockets.add(socket));
  http.server.listen(0, "127.0.0.1");
  await once(http.server, "listening");
  setImmediate(turn);
  const { port } = http.server.address() as AddressInfo;
  const clients: Socket[] = [];
  return {
    perTurn,
    read: () => bytes,
    /** Sends a body of so many bytes; `closed` resolves when the server has ended the connection. */
    send: (size: number): { readonly closed: Promise<unknown> } => {
      const socket = connect(port, "127.0.0.1").on("error", () => undefined);
      clients.push(socket.resume());
      socket.write(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${size}\r\n\r\n`);
      socket.write(Buffer.alloc(size));
      return { closed: new Promise((resolve) => socket.once("close", resolve)) };
    },
    /** Opens connections one after the other. */
    come: async (count: number): Promise<void> => {
      for (let at = 0; at < count; at++) {
        const socket = connect(port, "127.0.0.1").on("error", () => undefined);
        clients.push(socket);
        await once(http.server, "connection");
      }
    },
    [Symbol.asyncDispose]: async () => {
      isOver = true;
      for (const socket of clients) socket.destroy();
      await http[Symbol.asyncDispose]();
    },
  };
}

/** Sixteen sockets alone would give 32 MiB. */
const maxPerTurn = 3 * mib;

describe("bodies of many callers", () => {
  const handlers: readonly (readonly [string, (request: IncomingMessage) => Promise<unknown>])[] = [
    ["that are kept", (request) => readBody(request, 64 * mib)],
    ["that are refused", (request) => readBody(request, 4)],
    ["that no handler reads", async () => undefined],
  ];
  for (const [name, respond] of handlers)
    it(`${name} are read a little in each turn`, { timeout: 60_000 }, async () => {
      await using it = await open(respond);
      for (let at = 0; at < 16; at++) it.send(16 * mib);
      await it.come(50);
      const most = Math.max(...it.perTurn);
      assert.ok(it.read() > mib, `${it.read()} bytes were read`);
      assert.ok(most < maxPerTurn, `${most} bytes in one turn`);
    });

  it("that are kept come whole", { timeout: 60_000 }, async () => {
    const sizes: number[] = [];
    const all = Promise.withResolvers<void>();
    await using it = await open(async (request) => {
      sizes.push((await readBody(request, 16 * mib)).length);
      if (sizes.length === 8) all.resolve();
    });
    for (let at = 0; at < 8; at++) it.send(8 * mib + at);
    await all.promise;
    assert.deepEqual(
      sizes.sort(),
      Array.from({ length: 8 }, (_, at) => 8 * mib + at),
    );
  });

  it("that no handler reads are cut off where they do not end", { timeout: 60_000 }, async () => {
    await using it = await open(async () => undefined);
    const { closed } = it.send(400 * mib);
    await closed;
    assert.ok(it.read() < 100 * mib, `${it.read()} bytes were read`);
  });
});
