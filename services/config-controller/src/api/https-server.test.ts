/** The API's server as its callers meet it: certificates, tokens, bounds, watches that stay open. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { jwtAuthenticator, type LocalIssuer, localIssuerRule, openLocalIssuer } from "@flotilla/auth";
import {
  certificatePem,
  generatePrivateKey,
  issueLeaf,
  issueRoot,
  issuerOf,
  privateKeyPem,
  sanOf,
  spkiOf,
} from "@flotilla/pki";
import { noopLogger, until } from "@flotilla/runtime";
import { holdBodies, openIdle } from "@flotilla/testkit";
import { createAccess } from "./access.ts";
import { ApiError } from "./api-error.ts";
import type { KeyPair } from "./certificate.ts";
import { type ApiReply, type ApiServer, serveApi } from "./https-server.ts";

interface Served extends KeyPair {
  readonly rootPem: string;
}

async function served(): Promise<Served> {
  const [rootKey, key] = [await generatePrivateKey("ecdsa-p256"), await generatePrivateKey("ecdsa-p256")];
  const times = { notBeforeMs: Date.now() - 60_000, notAfterMs: Date.now() + 3_600_000 };
  const root = issueRoot({ serial: randomBytes(16), subject: { commonName: "root" }, ...times }, rootKey);
  const leaf = { serial: randomBytes(16), spki: spkiOf(key), sans: [sanOf("localhost")], ...times };
  const chainPem = certificatePem({ der: issueLeaf(leaf, issuerOf(root, rootKey)) });
  return { keyPem: privateKeyPem(key), chainPem, rootPem: certificatePem(root) };
}

const audience = "flotilla-api";
let workDir: string;
let issuer: LocalIssuer;
let server: ApiServer;
let root: Served;
let openWatches = 0;
let isReadingCut = false;
let cutReason: unknown;
let callerAddress = "";

before(async () => {
  workDir = await mkdtemp(join(tmpdir(), "api-"));
  issuer = await openLocalIssuer(workDir);
  root = await served();
  const rule = localIssuerRule(workDir, [audience]);
  const authenticator = jwtAuthenticator({ rule, trustDomain: () => "td", nowMs: Date.now, log: noopLogger });
  const access = createAccess({ authenticator, writers: ["ops/writer"], readers: ["ops/reader"], log: noopLogger });
  server = await serveApi({
    ...{ host: "127.0.0.1", port: 0, setting: "API_PORT", keyPair: root, log: noopLogger },
    answer: async ({ method, path, caller, body }): Promise<ApiReply> => {
      await access(caller, { write: method !== "GET", secrets: path === "/secrets" });
      if (path === "/cut") {
        isReadingCut = true;
        await body().catch((error: unknown) => {
          cutReason = error;
          throw error;
        });
      }
      await body();
      if (path === "/busy") throw new ApiError(429, "TooManyRequests", "later");
      if (path === "/broken") throw new RangeError("a fault of ours, with a secret in it");
      callerAddress = caller.remoteAddress;
      if (path !== "/watch") return { status: 200, body: {}, warnings: ['say "so"\r\nx-evil: ü'] };
      return {
        lines: async function* (stop) {
          openWatches += 1;
          try {
            yield { line: 1 };
            await new Promise<void>((resolve) => stop.addEventListener("abort", () => resolve(), { once: true }));
          } finally {
            openWatches -= 1;
          }
        },
      };
    },
  });
});

after(async () => {
  await server[Symbol.asyncDispose]();
  await rm(workDir, { recursive: true });
});

async function open(
  path: string,
  token: string,
  { method = "GET", body = "", ca = root.rootPem } = {},
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const headers = { authorization: `Bearer ${token}` };
  const sent = request({ host: "localhost", port: server.port, path, method, headers, ca, agent: false }, resolve);
  sent.once("error", reject);
  sent.end(body);
  return promise;
}

async function call(...args: Parameters<typeof open>) {
  const response = await open(...args);
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) text += String(chunk);
  return {
    status: response.statusCode,
    headers: response.headers,
    body: JSON.parse(text) as { readonly reason?: string; readonly message?: string },
  };
}

const mint = (name: string, audienceOf = audience) =>
  issuer.mintToken({ namespace: "ops", serviceAccount: name, audience: audienceOf });

describe("callers of the API", () => {
  it("do what their account may, and nothing without a token that is meant for it", async () => {
    const cases: readonly (readonly [string, string, string, number])[] = [
      [await mint("writer"), "GET", "/", 200],
      [await mint("writer"), "POST", "/", 200],
      [await mint("writer"), "GET", "/secrets", 200],
      [await mint("reader"), "GET", "/", 200],
      [await mint("reader"), "POST", "/", 403],
      [await mint("reader"), "GET", "/secrets", 403],
      [await mint("stranger"), "GET", "/", 403],
      [await mint("writer", "istio-ca"), "GET", "/", 401],
      ["not.a.token", "GET", "/", 401],
      ["", "GET", "/", 401],
    ];
    for (const [token, method, path, status] of cases) {
      const answer = await call(path, token, { method });
      assert.equal(answer.status, status, `${method} ${path}`);
      assert.equal(answer.headers["www-authenticate"], status === 401 ? "Bearer" : undefined, `${method} ${path}`);
    }
    const stranger = await openLocalIssuer(join(workDir, "stranger"));
    const forged = await stranger.mintToken({ namespace: "ops", serviceAccount: "writer", audience });
    assert.equal((await call("/", forged)).status, 401);
  });

  it("meet a certificate that can be replaced", async () => {
    const next = await served();
    await assert.rejects(open("/", await mint("writer"), { ca: next.rootPem }));
    const before = root;
    server.reload(next);
    root = next;
    assert.equal((await call("/", await mint("writer"))).status, 200);
    server.reload(before);
    root = before;
  });
});

describe("answers of the API", () => {
  it("are for callers by their address and port", async () => {
    await call("/", await mint("writer"));
    assert.match(callerAddress, /^127\.0\.0\.1:\d+$/);
  });

  it("carry warnings that cannot break out of their header", async () => {
    const { headers } = await call("/", await mint("writer"));
    assert.equal(headers["warning"], '299 - "say \\"so\\"??x-evil: ?"');
    assert.equal(headers["x-evil"], undefined);
  });

  it("say when to come back, how large is too large, and nothing of our faults", async () => {
    const token = await mint("writer");
    const busy = await call("/busy", token);
    assert.deepEqual([busy.status, busy.headers["retry-after"], busy.body.reason], [429, "1", "TooManyRequests"]);
    const broken = await call("/broken", token);
    assert.deepEqual([broken.status, broken.body.message], [500, "internal error"]);
    const large = await call("/", token, { method: "POST", body: "x".repeat(9 * 1024 * 1024) });
    assert.equal(large.status, 413);
    const stranger = await call("/", "", { method: "POST", body: "x".repeat(9 * 1024 * 1024) });
    assert.equal(stranger.status, 401, "what a stranger sends is not read");
  });

  it("are none to a body that ends too early, which is the caller's fault", async () => {
    const headers = { authorization: `Bearer ${await mint("writer")}`, "content-length": "10" };
    const at = { host: "localhost", port: server.port, path: "/cut", method: "POST", ca: root.rootPem, agent: false };
    const sent = request({ ...at, headers });
    sent.on("error", (error: NodeJS.ErrnoException) => assert.equal(error.code, "ECONNRESET"));
    sent.write("12345");
    await until(() => isReadingCut, { withinMs: 30_000, what: "the request", everyMs: 1 });
    sent.destroy();
    await until(() => cutReason !== undefined, { withinMs: 30_000, what: "the reason", everyMs: 1 });
    assert.ok(cutReason instanceof ApiError);
    assert.deepEqual(
      [cutReason.status, cutReason.reason, cutReason.message],
      [400, "BadRequest", "the body ended too early"],
    );
  });

  it("that have no end do end with their reader", async () => {
    const response = await open("/watch", await mint("reader"));
    const [chunk] = await new Promise<readonly Buffer[]>((resolve) =>
      response.once("data", (...data) => resolve(data)),
    );
    assert.equal(String(chunk), '{"line":1}\n');
    assert.equal(response.headers["content-type"], "application/json");
    assert.equal(openWatches, 1);
    response.destroy();
    await until(() => openWatches === 0, { withinMs: 30_000, what: "the watch to end" });
  });

  it("that fail by a fault of ours are logged with it", async () => {
    const [fault, logged]: [Error, unknown[]] = [new RangeError("a fault of ours"), []];
    await using own = await serveApi({
      ...{ host: "127.0.0.1", port: 0, setting: "API_PORT", keyPair: root },
      log: { ...noopLogger, error: (event, fields) => void logged.push(event, fields?.["path"], fields?.["error"]) },
      answer: () => Promise.reject(fault),
    });
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const at = { host: "localhost", port: own.port, path: "/a", ca: root.rootPem, agent: false };
    request(at, resolve).once("error", reject).end();
    const response = await promise;
    response.resume();
    assert.deepEqual([response.statusCode, ...logged], [500, "request failed", "/a", fault]);
  });

  it("that have no end are cut off from a reader that takes nothing, and little waits for it until then", async () => {
    let [sent, hasEnded] = [0, false];
    await using own = await serveApi({
      ...{ host: "127.0.0.1", port: 0, setting: "API_PORT", keyPair: root, log: noopLogger, takeWithinMs: 200 },
      answer: async () => ({
        lines: async function* () {
          try {
            for (; ; sent++) yield "x".repeat(65_536);
          } finally {
            hasEnded = true;
          }
        },
      }),
    });
    const at = { host: "localhost", port: own.port, ca: root.rootPem, agent: false };
    const reading = request(at, (response) => void response.pause());
    reading.on("error", () => undefined).end();
    await until(() => hasEnded, { withinMs: 60_000, what: "the watch to be cut off" });
    reading.destroy();
    assert.ok(sent < 1_000, `${sent} lines of 64 kB were made for a reader that took none`);
  });

  it("that have no end are completed when the server ends", async () => {
    const own = await serveApi({
      ...{ host: "127.0.0.1", port: 0, setting: "API_PORT", keyPair: root, log: noopLogger },
      answer: async () => ({
        lines: async function* (stop) {
          yield 1;
          await new Promise<void>((resolve) => stop.addEventListener("abort", () => resolve(), { once: true }));
        },
      }),
    });
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    request({ host: "localhost", port: own.port, ca: root.rootPem, agent: false }, resolve).once("error", reject).end();
    const response = await promise;
    await once(response, "data");
    const ended = once(response, "end");
    await Promise.all([own[Symbol.asyncDispose](), ended]);
    assert.equal(response.complete, true);
  });
});

const silentFrom = (localAddress: string) => () => connect({ host: "127.0.0.1", port: server.port, localAddress });

describe("connections to the API", () => {
  it("that are silent keep no caller out, and cost none its answer", async () => {
    using owned = new DisposableStack();
    const watch = owned.adopt(await open("/watch", await mint("reader")), (one) => one.destroy());
    await once(watch, "data");
    let isWatchOpen = true;
    watch
      .on("error", () => undefined)
      .once("close", () => {
        isWatchOpen = false;
      });
    const silent: { left(): number }[] = [];
    // Also from the address of the honest callers: its oldest silent one makes room.
    for (const address of ["127.0.0.2", "127.0.0.3", "127.0.0.1"]) {
      silent.push(owned.use(await openIdle(silentFrom(address), 1_200)));
      assert.equal((await call("/", await mint("writer"))).status, 200, address);
    }
    assert.equal(isWatchOpen, true, "a watch is no silent connection");
    await until(() => silent.reduce((sum, one) => sum + one.left(), 0) <= 2_000, {
      withinMs: 30_000,
      what: "silent ones to be closed",
    });
  });
});

it("bodies beyond 64 MiB of one address that are being sent are refused, and room comes back", {
  timeout: 60_000,
}, async () => {
  const token = await mint("writer");
  const size = 8 * 1024 * 1024;
  const at = { host: "localhost", port: server.port, method: "POST", path: "/", ca: root.rootPem, agent: false };
  {
    using bodies = holdBodies(9, size, (own) =>
      request({ ...at, headers: { authorization: `Bearer ${token}`, ...own } }),
    );
    assert.equal(await bodies.firstStatus, 429);
  }
  const isAnswered = async () => (await call("/", token, { method: "POST", body: "{}" })).status === 200;
  await until(isAnswered, { withinMs: 30_000, what: "room for another body", everyMs: 5 });
});

it("silent connections of one address are 1,000 at most, and callers are answered beside them", {
  timeout: 60_000,
}, async () => {
  using silent = await openIdle(silentFrom("127.0.0.4"), 1_100);
  await until(() => silent.left() <= 1_000, { withinMs: 30_000, what: "the bound of silent connections", everyMs: 5 });
  // After 10 s without a ClientHello all of them are closed.
  assert.ok(silent.left() > 980, `${silent.left()} were left`);
  assert.equal((await call("/", await mint("writer"))).status, 200);
});
