/** Callers that ask for large pages and read nothing: the memory that their answers take, and what others get. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { until } from "@flotilla/runtime";
import type { AnswerBounds } from "./held-answers.ts";
import { createHttpServer, sendText } from "./http-server.ts";

const mib = 1024 * 1024;
const soon = (what: string) => ({ withinMs: 30_000, what, everyMs: 5 });

/** Each page has 8 MiB. */
async function open(bounds: AnswerBounds) {
  let pages = 0;
  const http = createHttpServer({
    ...{ drainMs: 0, answers: bounds, onFailure: () => undefined },
    queues: ({ url }) => url !== "/ready",
    respond: async ({ url }, response) => {
      if (url === "/ready") return sendText(response, { status: 200, contentType: "text/plain", text: "ready" });
      pages++;
      sendText(response, { status: 200, contentType: "text/plain", text: "x".repeat(8 * mib) });
    },
    failure: () => ({ status: 500, contentType: "text/plain", text: "" }),
  });
  await once(http.server.listen(0, "127.0.0.1"), "listening");
  const { port } = http.server.address() as AddressInfo;
  const sockets: Socket[] = [];
  return {
    pages: () => pages,
    connections: () => promisify(http.server.getConnections.bind(http.server))(),
    /** Asks, and reads the first bytes only. */
    ask: async (localAddress = "127.0.0.1") => {
      const socket = connect({ port, host: "127.0.0.1", localAddress });
      sockets.push(socket.on("error", () => undefined));
      socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
      const [head] = (await once(socket, "data")) as [Buffer];
      socket.pause();
      return { status: Number(head.toString("latin1").split(" ")[1]), socket };
    },
    read: async (localAddress: string, path = "/") => {
      const request = get({ port, host: "127.0.0.1", localAddress, path, agent: false });
      const [response] = (await once(request, "response")) as [IncomingMessage];
      let bytes = 0;
      for await (const part of response) bytes += (part as Buffer).length;
      return { status: response.statusCode, bytes };
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await http[Symbol.asyncDispose]();
    },
  };
}

describe("answers that are not read", () => {
  it("of one address are bounded: the next is answered 503 without a page, others get theirs, and room comes back", async () => {
    await using it = await open({ maxPerAddress: 24 * mib, maxInAll: 1_000 * mib });
    const before = process.memoryUsage().rss;
    const asked = [];
    for (let at = 0; at < 200; at++) asked.push(await it.ask());
    assert.deepEqual(
      asked.slice(0, 4).map(({ status }) => status),
      [200, 200, 200, 503],
    );
    assert.equal(it.pages(), 3);
    const grownMib = (process.memoryUsage().rss - before) / mib;
    assert.ok(grownMib < 400, `${Math.round(grownMib)} MiB more of 1,600 that were asked for`);
    assert.deepEqual(await it.read("127.0.0.2"), { status: 200, bytes: 8 * mib });
    assert.deepEqual(await it.read("127.0.0.1", "/ready"), { status: 200, bytes: 5 }, "a probe");
    asked[0]?.socket.resume();
    await until(async () => (await it.ask()).status === 200, soon("room"));
  });

  it("of one address leave room for one, whatever its size", async () => {
    await using it = await open({ maxPerAddress: mib, maxInAll: 1_000 * mib });
    assert.deepEqual([(await it.ask()).status, (await it.ask()).status], [200, 503]);
  });

  it("in all cost the address that holds the most its oldest one", async () => {
    await using it = await open({ maxPerAddress: 100 * mib, maxInAll: 24 * mib });
    const [first, second] = [await it.ask(), await it.ask()];
    assert.equal((await it.ask("127.0.0.2")).status, 200);
    assert.equal((await it.ask("127.0.0.2")).status, 503, "it holds one already");
    const closed = once(first.socket.resume(), "close");
    assert.equal((await it.ask("127.0.0.3")).status, 200);
    await closed;
    assert.ok(first.socket.bytesRead < 8 * mib);
    assert.equal(second.socket.destroyed, false);
  });

  it("end with their connection when nothing is taken for a while", async () => {
    await using it = await open({ maxPerAddress: 100 * mib, maxInAll: 100 * mib, takeWithinMs: 200 });
    await it.ask();
    assert.equal(await it.connections(), 1);
    await until(async () => (await it.connections()) === 0, soon("the end"));
  });
});
