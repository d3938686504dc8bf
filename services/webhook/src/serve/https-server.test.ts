/** The HTTPS server by itself: faults of the handler, bounds of bodies, what a request is read as, and its end. */
import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";
import { createAuthority } from "@flotilla/auth/testing";
import { type Logger, noopLogger, until } from "@flotilla/runtime";
import { holdBodies } from "@flotilla/testkit";
import { type HttpsOptions, type HttpsReply, type HttpsRequest, json, plain, serveHttps } from "./https-server.ts";

const authority = await createAuthority();
const keyPair = await authority.material(["localhost"]);

async function setUp(answer: HttpsOptions["answer"]) {
  const errors: string[] = [];
  const log: Logger = { ...noopLogger, error: (event, fields) => void errors.push(`${event} ${fields?.["path"]}`) };
  const server = await serveHttps({ host: "127.0.0.1", port: 0, setting: "TEST_PORT", keyPair, log, answer });
  const call = async (
    path: string,
    method = "GET",
    body: string | Buffer = "",
    headers: Record<string, string> = {},
  ) => {
    const { promise, resolve, reject } = Promise.withResolvers<Awaited<ReturnType<typeof read>>>();
    const at = { host: "localhost", port: server.port, path, method, headers, agent: false, ca: authority.rootPem };
    const sent = request(at, (reply) => {
      read(reply).then(resolve, reject);
    });
    sent.once("error", reject).setTimeout(5_000, () => sent.destroy(new RangeError("no answer within 5 s")));
    sent.end(body);
    return promise;
  };
  return { server, errors, call, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

async function read(reply: IncomingMessage) {
  const { statusCode: status, headers } = reply;
  return { status, type: headers["content-type"], length: headers["content-length"], text: await text(reply) };
}

describe("the HTTPS server", () => {
  it("hands over method, path without query, content type and body", async () => {
    const requests: HttpsRequest[] = [];
    await using it = await setUp((asked) => {
      requests.push(asked);
      return json({ ok: "ü" });
    });
    const reply = await it.call("/inject/a?b=c", "POST", "body", { "content-type": "application/json" });
    assert.deepEqual(reply, { status: 200, type: "application/json", length: "11", text: '{"ok":"ü"}' });
    await it.call("/");
    const shown = requests.map(({ body, ...rest }) => ({ ...rest, body: String(Buffer.from(body)) }));
    assert.deepEqual(shown, [
      { method: "POST", path: "/inject/a", contentType: "application/json", body: "body" },
      { method: "GET", path: "/", contentType: "", body: "" },
    ]);
  });

  it("answers a fault of the handler with 500 and nothing of it, and logs it", async () => {
    await using it = await setUp(async () => {
      throw new RangeError("a secret");
    });
    const type = "text/plain; charset=utf-8";
    assert.deepEqual(await it.call("/inject"), { status: 500, type, length: "15", text: "internal error\n" });
    assert.deepEqual(it.errors, ["request failed /inject"]);
  });

  it("takes bodies of 8 MiB and no larger ones", async () => {
    await using it = await setUp(({ body }) => plain(200, String(body.byteLength)));
    const most = Buffer.alloc(8 * 1024 * 1024);
    assert.deepEqual((await it.call("/", "POST", most)).text, `${most.byteLength}\n`);
    const refused = await it.call("/", "POST", Buffer.alloc(most.byteLength + 1));
    assert.deepEqual([refused.status, refused.text], [413, `the body is larger than ${most.byteLength} bytes\n`]);
  });

  it("shows new connections the certificate that it was given last", async () => {
    await using it = await setUp(() => plain(200, "ok"));
    const other = await createAuthority("other");
    it.server.reload(await other.material(["localhost"]));
    await assert.rejects(it.call("/"), { code: "UNABLE_TO_VERIFY_LEAF_SIGNATURE" });
    it.server.reload(keyPair);
    assert.equal((await it.call("/")).status, 200);
  });

  it("ends once the answers under way are given", async () => {
    const [asked, given] = [Promise.withResolvers<void>(), Promise.withResolvers<HttpsReply>()];
    const it = await setUp(() => {
      asked.resolve();
      return given.promise;
    });
    const reply = it.call("/slow");
    await asked.promise;
    const ended = it[Symbol.asyncDispose]();
    given.resolve(plain(200, "late"));
    assert.equal((await reply).text, "late\n");
    await ended;
    await assert.rejects(it.call("/"), { code: "ECONNREFUSED" });
  });

  it("refuses bodies beyond 64 MiB of one address that are being sent, and takes others again", async () => {
    await using it = await setUp(({ body }) => plain(200, String(body.byteLength)));
    const size = 8 * 1024 * 1024;
    const at = { host: "localhost", port: it.server.port, method: "POST", agent: false, ca: authority.rootPem };
    {
      using bodies = holdBodies(9, size, (headers) => request({ ...at, headers }));
      assert.equal(await bodies.firstStatus, 503);
    }
    const isAnswered = async () => (await it.call("/", "POST", "abc")).status === 200;
    await until(isAnswered, { withinMs: 30_000, what: "room for another body", everyMs: 5 });
  });
});
