/** The bounds of the console's port, each reached by requests over HTTP: what is refused, and that others are answered. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { describe, it } from "node:test";
import { createMetrics, noopLogger, until } from "@flotilla/runtime";
import { holdBodies, openIdle } from "@flotilla/testkit";
import type { NumberedEvent } from "../events/event-feed.ts";
import { type EventStreamOptions, EventStreams } from "../events/event-streams.ts";
import { declareMetrics } from "../metrics.ts";
import { cookieName } from "../session/cookie.ts";
import { Sessions } from "../session/sessions.ts";
import { createConsoleServer } from "./console-server.ts";
import { EndpointTable, type Handlers } from "./endpoint.ts";

interface Bounds {
  readonly maxSessions?: number;
  readonly maxStreams?: number;
}

const soon = (what: string) => ({ withinMs: 30_000, what, everyMs: 5 });

/** Takes any token; its one endpoint answers the length of its body. */
async function open({ maxSessions = 10, maxStreams = 10 }: Bounds = {}) {
  const stop = new AbortController();
  const sessions = new Sessions({ idleMs: 60_000, maxSessions, nowMs: Date.now });
  const listeners = new Set<(event: NumberedEvent) => void>();
  const feed: EventStreamOptions["feed"] = {
    listen: ({ take }) => {
      listeners.add(take);
      return () => void listeners.delete(take);
    },
  };
  const events = new EventStreams({ feed, maxStreams, stop: stop.signal });
  const metrics = createMetrics();
  const lengthOf = async ({ body }: { readonly body: () => Promise<unknown> }) => ({
    length: String(((await body()) as { readonly text: string }).text).length,
  });
  const server = createConsoleServer({
    ...{ cookie: cookieName(1, false), sessions, idleMs: 60_000, version: "0", events, log: noopLogger },
    endpoints: new EndpointTable({ "POST /api/v1/length": lengthOf } as unknown as Handlers),
    page: { count: 0, find: () => undefined },
    metrics: declareMetrics(metrics, { sessions: () => sessions.size, streams: () => events.count }),
    signIn: async (body) => ({
      caller: { account: "istio-system/reader", mayWrite: false },
      token: String((body as { readonly token: unknown }).token),
    }),
  });
  server.server.listen(0, "127.0.0.1");
  await once(server.server, "listening");
  const url = `http://127.0.0.1:${(server.server.address() as AddressInfo).port}`;
  const post = (path: string, body: unknown, cookie = "") =>
    fetch(`${url}${path}`, {
      method: "POST",
      headers: { origin: url, "content-type": "application/json", cookie },
      body: JSON.stringify(body),
    });
  return {
    url,
    post,
    events,
    metrics,
    signIn: async () => {
      const answer = await post("/api/v1/session", { token: "t" });
      return { status: answer.status, cookie: answer.headers.get("set-cookie")?.split(";", 1)[0] ?? "" };
    },
    emit: (text: string) => {
      for (const take of listeners) take({ id: 1, event: { type: "fleet", data: text } as never });
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      server.server.closeAllConnections();
      await server[Symbol.asyncDispose]();
    },
  };
}

const codeOf = async (answer: Response): Promise<readonly [number, string]> => {
  const { error } = (await answer.json()) as { readonly error: { readonly code: string } };
  return [answer.status, error.code];
};

describe("the console's port", () => {
  it("refuses a session beyond the bound with 429, and takes one again when another has ended", async () => {
    await using it = await open({ maxSessions: 2 });
    const [first] = [await it.signIn(), await it.signIn()];
    assert.deepEqual(await codeOf(await it.post("/api/v1/session", { token: "t" })), [429, "too-many"]);
    assert.equal((await it.post("/api/v1/length", { text: "abc" }, first.cookie)).status, 200);
    const headers = { cookie: first.cookie, origin: it.url };
    assert.equal((await fetch(`${it.url}/api/v1/session`, { method: "DELETE", headers })).status, 204);
    assert.equal((await it.signIn()).status, 201);
    assert.match(await it.metrics.text(), /flotilla_console_refused_total\{code="too-many"\} 1/);
  });

  it("refuses a stream of events beyond the bound with 429, and opens one when another was closed", async () => {
    await using it = await open({ maxStreams: 1 });
    const { cookie } = await it.signIn();
    const first = new AbortController();
    const ask = (signal?: AbortSignal) =>
      fetch(`${it.url}/api/v1/events`, { headers: { cookie }, ...(signal !== undefined && { signal }) });
    assert.equal((await ask(first.signal)).status, 200);
    assert.deepEqual(await codeOf(await ask()), [429, "too-many"]);
    assert.equal((await it.post("/api/v1/length", { text: "abc" }, cookie)).status, 200);
    first.abort();
    await until(() => it.events.count === 0, soon("the end of the first stream"));
    const next = await ask();
    assert.equal(next.status, 200);
    await next.body?.cancel();
  });

  it("holds little for a reader of events that takes nothing, which is sent `resync` when it reads again", async () => {
    await using it = await open();
    const { cookie } = await it.signIn();
    const reading = request(`${it.url}/api/v1/events`, { headers: { cookie } });
    reading.on("error", () => undefined).end();
    const [response] = (await once(reading, "response")) as [IncomingMessage];
    await until(() => it.events.count === 1, soon("the stream"));
    const event = "x".repeat(256 * 1024);
    for (let sent = 0; sent < 1_000; sent++) {
      it.emit(event);
      if (sent % 50 === 0) await new Promise(setImmediate);
    }
    let bytes = 0;
    let last = "";
    response.on("data", (part: Buffer) => {
      bytes += part.length;
      last = `${last}${part.toString("latin1")}`.slice(-200);
    });
    await until(() => last.includes("event: resync"), soon("resync"));
    assert.ok(bytes < 16 * 1024 * 1024, `${bytes} bytes waited of 256 MiB`);
    reading.destroy();
  });

  it("answers 413 to a body over 4 MiB, and to one of a caller that has not signed in over 16 KiB", async () => {
    await using it = await open();
    const { cookie } = await it.signIn();
    const mib = 1024 * 1024;
    const fits = await it.post("/api/v1/length", { text: "x".repeat(4 * mib - 11) }, cookie);
    assert.deepEqual(await fits.json(), { length: 4 * mib - 11 });
    const large = await it.post("/api/v1/length", { text: "x".repeat(4 * mib - 10) }, cookie);
    assert.deepEqual(await codeOf(large), [413, "too-large"]);
    assert.deepEqual(await codeOf(await it.post("/api/v1/session", { token: "x".repeat(17_000) })), [413, "too-large"]);
    assert.equal((await it.post("/api/v1/length", { text: "abc" }, cookie)).status, 200);
  });

  it("refuses bodies beyond 32 MiB of one address that are being sent, and answers when they have gone", async () => {
    await using it = await open();
    const { cookie } = await it.signIn();
    const headers = { origin: it.url, "content-type": "application/json", cookie };
    {
      using bodies = holdBodies(9, 4 * 1024 * 1024, (own) =>
        request(`${it.url}/api/v1/length`, { method: "POST", headers: { ...headers, ...own }, agent: false }),
      );
      assert.equal(await bodies.firstStatus, 429);
    }
    const isAnswered = async () => (await it.post("/api/v1/length", { text: "abc" }, cookie)).status === 200;
    await until(isAnswered, soon("room for another body"));
  });

  it("keeps 500 silent connections of one address, and answers beside them", async () => {
    await using it = await open();
    const { port, hostname } = new URL(it.url);
    using silent = await openIdle(() => connect(Number(port), hostname), 520, { atOnce: 10 });
    await until(() => silent.left() <= 500, soon("the bound"));
    assert.equal(silent.left(), 500);
    assert.equal((await it.signIn()).status, 201);
  });
});
