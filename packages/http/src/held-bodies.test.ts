/** Bodies beyond the bounds, sent slowly by several addresses of this host to a real server. */
import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { describe, it } from "node:test";
import { HeldBodies } from "./held-bodies.ts";
import { createHttpServer, readBody, sendText } from "./index.ts";

const kib = 1_024;

async function open(bodies: { readonly maxPerAddress: number; readonly maxInAll: number }) {
  const release = Promise.withResolvers<void>();
  let begun = 0;
  const http = createHttpServer({
    ...{ drainMs: 0, bodies, onFailure: () => undefined },
    failure: () => ({ status: 500, contentType: "text/plain", text: "" }),
    respond: async (request, response) => {
      begun++;
      const body = await readBody(request, 1_000 * kib);
      if (request.url === "/slow") await release.promise;
      const isBody = typeof body !== "string";
      sendText(response, { status: isBody ? 200 : 503, contentType: "text/plain", text: isBody ? "taken" : body });
    },
  });
  http.server.listen(0, "127.0.0.1");
  await once(http.server, "listening");
  const { port } = http.server.address() as AddressInfo;
  const sockets: Socket[] = [];
  /** A POST whose body is announced as `announced` bytes and of which `sent` are sent. */
  const post = async (localAddress: string, sent: number, announced = sent, path = "/") => {
    const socket = connect({ host: "127.0.0.1", port, localAddress });
    socket.on("error", () => undefined);
    sockets.push(socket);
    const before = begun;
    socket.write(`POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-length: ${announced}\r\n\r\n`);
    socket.write(Buffer.alloc(sent, "x"));
    const answer = once(socket, "data").then(([data]) => Number(String(data).split(" ")[1]));
    while (begun === before) await new Promise((resolve) => setImmediate(resolve));
    return { answer, more: (bytes: number) => socket.write(Buffer.alloc(bytes, "x")) };
  };
  const dispose = async () => {
    for (const socket of sockets) socket.destroy();
    await http[Symbol.asyncDispose]();
  };
  return { post, release: release.resolve, [Symbol.asyncDispose]: dispose };
}

describe("bytes of bodies beyond the bounds", () => {
  it("of one address are refused to it, at once and while the rest is sent, and others are answered", async () => {
    await using it = await open({ maxPerAddress: 100 * kib, maxInAll: 1_000 * kib });
    const slow = await it.post("127.0.0.2", 60 * kib, 900 * kib);
    const next = await it.post("127.0.0.2", 60 * kib, 900 * kib);
    assert.equal(await next.answer, 503);
    assert.equal(await (await it.post("127.0.0.3", 60 * kib)).answer, 200);
    // Refused bodies count no more.
    slow.more(30 * kib);
    slow.more(30 * kib);
    assert.equal(await slow.answer, 503);
    assert.equal(await (await it.post("127.0.0.2", 90 * kib)).answer, 200);
  });

  it("in all cost the address that holds the most its newest one", async () => {
    await using it = await open({ maxPerAddress: 100 * kib, maxInAll: 150 * kib });
    await it.post("127.0.0.2", 45 * kib, 900 * kib);
    const newest = await it.post("127.0.0.2", 45 * kib, 900 * kib);
    const honest = await it.post("127.0.0.3", 40 * kib, 80 * kib);
    honest.more(40 * kib);
    assert.deepEqual([await newest.answer, await honest.answer], [503, 200]);
  });

  it("are none where bodies reach the bounds exactly", async () => {
    await using it = await open({ maxPerAddress: 100 * kib, maxInAll: 100 * kib });
    assert.equal(await (await it.post("127.0.0.2", 100 * kib)).answer, 200);
  });

  it("count until they are answered", async () => {
    await using it = await open({ maxPerAddress: 100 * kib, maxInAll: 1_000 * kib });
    const waits = await it.post("127.0.0.2", 90 * kib, 90 * kib, "/slow");
    assert.equal(await (await it.post("127.0.0.2", 20 * kib)).answer, 503);
    it.release();
    assert.equal(await waits.answer, 200);
    assert.equal(await (await it.post("127.0.0.2", 90 * kib)).answer, 200);
  });
});

describe("bodies that are not held", () => {
  /** A request as far as it is looked at, and its response. */
  const call = () => {
    const request = { socket: { remoteAddress: "127.0.0.1" } } as unknown as IncomingMessage;
    return { request, response: new EventEmitter() as ServerResponse };
  };
  const room = { maxPerAddress: 10, maxInAll: 10 };

  it("count for nothing: those of other servers, and those that are whole", () => {
    const held = new HeldBodies(room);
    held.take(call().request, 100);
    const refused: string[] = [];
    const [whole, other] = [call(), call()];
    for (const [name, { request, response }] of Object.entries({ whole, other })) {
      held.follow(request, response);
      held.begin(request, () => void refused.push(name));
    }
    held.take(whole.request, 6);
    held.end(whole.request);
    held.take(whole.request, 100);
    held.take(other.request, 4);
    assert.deepEqual(refused, []);
    held.take(other.request, 1);
    assert.deepEqual(refused, ["other"], "eleven bytes are too many");
  });

  it("count for nothing when they are answered", () => {
    const held = new HeldBodies(room);
    const refuse = () => assert.fail("there is room");
    for (let i = 0; i < 3; i++) {
      const { request, response } = call();
      held.follow(request, response);
      held.begin(request, refuse);
      held.take(request, 10);
      response.emit("close");
    }
  });
});
