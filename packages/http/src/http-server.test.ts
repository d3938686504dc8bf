/** The server by itself, on plain HTTP: answers, faults, bodies with a bound, and its end. TLS is tested with the webhook and the API. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect } from "node:net";
import { describe, it } from "node:test";
import { createHttpServer, type HttpServerOptions, readBody, sendText } from "./index.ts";

const plain = (status: number, text: string) => ({ status, contentType: "text/plain", text });

async function open(respond: HttpServerOptions["respond"], drainMs = 0, more: Pick<HttpServerOptions, "queues"> = {}) {
  const failures: string[] = [];
  const http = createHttpServer({
    ...{ ...more, drainMs, respond, failure: () => plain(500, "internal error") },
    onFailure: (error, { url }) => void failures.push(`${url}: ${(error as Error).message}`),
  });
  http.server.listen(0, "127.0.0.1");
  await once(http.server, "listening");
  const url = `http://127.0.0.1:${(http.server.address() as AddressInfo).port}`;
  return { ...{ http, url, failures }, [Symbol.asyncDispose]: () => http[Symbol.asyncDispose]() };
}

describe("createHttpServer", () => {
  it("sends texts with their length in bytes and headers of their own", async () => {
    await using it = await open(async (_, response) => sendText(response, plain(201, "grün"), { location: "/there" }));
    const reply = await fetch(it.url, { redirect: "manual" });
    const { headers } = reply;
    assert.deepEqual(
      [reply.status, headers.get("content-type"), headers.get("content-length"), headers.get("location")],
      [201, "text/plain", "5", "/there"],
    );
    assert.equal(await reply.text(), "grün");
    const head = await fetch(it.url, { method: "HEAD" });
    assert.deepEqual([head.headers.get("content-length"), await head.text()], ["5", ""]);
  });

  it("answers a rejection by `failure` and reports it with its request", async () => {
    await using it = await open(() => Promise.reject(new Error("a secret")));
    const reply = await fetch(`${it.url}/page`);
    assert.deepEqual([reply.status, await reply.text(), it.failures], [500, "internal error", ["/page: a secret"]]);
  });

  it("cuts an answer that had begun when `respond` rejected", async () => {
    await using it = await open(async (_, response) => {
      response.writeHead(200).write("begun");
      throw new Error("too late");
    });
    await assert.rejects(async () => (await fetch(it.url)).text());
    assert.deepEqual(it.failures, ["/: too late"]);
  });

  it("reads bodies up to a bound, and answers those that are larger", async () => {
    await using it = await open(async (request, response) => {
      const body = await readBody(request, 4);
      sendText(response, typeof body === "string" ? plain(413, body) : plain(200, String(body.byteLength)));
    });
    const sizeOf = async (body: string) => (await fetch(it.url, { method: "POST", body })).text();
    assert.deepEqual([await sizeOf("1234"), await sizeOf("12345"), await sizeOf("1")], ["4", "too large", "1"]);
  });

  it("cuts off a caller that sends on after its body was refused", { timeout: 60_000 }, async () => {
    await using it = await open(async (request, response) => {
      const body = await readBody(request, 4);
      sendText(response, plain(typeof body === "string" ? 413 : 200, "answered"));
    });
    const { hostname, port } = new URL(it.url);
    const socket = connect(Number(port), hostname).on("error", () => undefined);
    let text = "";
    socket.on("data", (bytes) => {
      text += String(bytes);
    });
    const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    const mib = 1024 * 1024;
    const part = Buffer.alloc(mib);
    let sentMib = 0;
    socket.write(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${1_000 * mib}\r\n\r\n`);
    for (; sentMib < 1_000 && !socket.destroyed; sentMib++) {
      const drained = new Promise<void>((resolve) => socket.once("drain", resolve));
      if (!socket.write(part)) await Promise.race([drained, closed]);
    }
    await closed;
    assert.match(text, /^HTTP\/1\.1 413 /);
    assert.ok(sentMib > 50 && sentMib < 100, `${sentMib} MiB were sent`);
  });

  it("answers 431 to headers of more than 16 KiB, and 200 to less", async () => {
    await using it = await open(async (_, response) => sendText(response, plain(200, "")));
    const statusOf = async (bytes: number) => (await fetch(it.url, { headers: { "x-a": "x".repeat(bytes) } })).status;
    assert.deepEqual([await statusOf(15_000), await statusOf(17_000), await statusOf(15_000)], [200, 431, 200]);
  });

  it("lets answers finish within `drainMs`, and cuts what is left after it", async () => {
    const held = Promise.withResolvers<void>();
    const arrived = Promise.withResolvers<void>();
    const it = await open(async (_, response) => {
      arrived.resolve();
      await held.promise;
      sendText(response, plain(200, "in time"));
    }, 60_000);
    const reply = fetch(it.url);
    await arrived.promise;
    const closed = it[Symbol.asyncDispose]();
    held.resolve();
    assert.equal(await (await reply).text(), "in time");
    it.http.server.closeIdleConnections();
    await closed;

    const never = await open(() => new Promise(() => undefined), 1);
    const cut = assert.rejects(fetch(never.url));
    await once(never.http.server, "request");
    await never[Symbol.asyncDispose]();
    await cut;
  });

  it("has no certificate to replace on plain HTTP", async () => {
    await using it = await open(async (_, response) => sendText(response, plain(200, "")));
    assert.throws(() => it.http.reload({ keyPem: "", chainPem: "" }), /plain HTTP/);
  });

  it("answers 503 and when to try again to requests that find no place in the queue", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    await using it = await open(
      async (_, response) => {
        await promise;
        sendText(response, plain(200, ""));
      },
      0,
      { queues: () => true },
    );
    const asked = Array.from({ length: 600 }, () => fetch(it.url));
    const first = await Promise.any(asked);
    assert.deepEqual([first.status, first.headers.get("retry-after")], [503, "1"]);
    assert.match(await first.text(), /too many requests wait/);
    resolve();
    const statuses = new Set((await Promise.all(asked)).map(({ status }) => status));
    assert.deepEqual(statuses, new Set([200, 503]));
  });
});
