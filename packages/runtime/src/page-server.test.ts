/** Bodies that the pages of every service take, how larger ones are answered, and the form of answers. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { describe, it } from "node:test";
import { RouteTable } from "@flotilla/http";
import { holdBodies, openIdle } from "@flotilla/testkit";
import { noopLogger } from "./logger.ts";
import { createPageServer } from "./page-server.ts";
import { until } from "./wait.ts";

const mib = 1024 * 1024;

const refuse = ({ headers }: IncomingMessage) =>
  headers.authorization === "wrong" ? { status: 401, json: { error: "no such caller" } } : undefined;

async function open() {
  const routes = new RouteTable();
  routes.add({ method: "PUT", path: "/size", handler: ({ body }) => ({ json: { size: body.byteLength } }) });
  routes.add({ method: "GET", path: "/old", handler: () => ({ status: 302, location: "/size", text: "" }) });
  routes.add({ method: "GET", path: "/text", handler: () => ({ text: "a text" }) });
  routes.add({ method: "GET", path: "/html", handler: () => ({ text: "<p>", contentType: "text/html" }) });
  routes.add({ method: "GET", path: "/broken", handler: () => Promise.reject(new Error("no such shard")) });
  const made = { large: 0 };
  routes.add({ method: "GET", path: "/ready", handler: () => ({ text: `${made.large} made` }) });
  routes.add({
    method: "GET",
    path: "/large",
    handler: () => {
      const startedAt = performance.now();
      while (performance.now() - startedAt < 20);
      return { text: `${++made.large}` };
    },
  });
  const http = createPageServer({ routes, log: noopLogger, refuse });
  http.server.listen(0, "127.0.0.1");
  await once(http.server, "listening");
  const url = `http://127.0.0.1:${(http.server.address() as AddressInfo).port}/size`;
  return { url, [Symbol.asyncDispose]: () => http[Symbol.asyncDispose]() };
}

describe("pages of a service", () => {
  it("take bodies of 4 MiB, and answer 413 to a larger one", async () => {
    await using it = await open();
    const statusOf = async (bytes: number) =>
      (await fetch(it.url, { method: "PUT", body: Buffer.alloc(bytes) })).status;
    assert.deepEqual([await statusOf(4 * mib), await statusOf(4 * mib + 1), await statusOf(1)], [200, 413, 200]);
  });

  it("answer people with indented JSON, and programs that ask for JSON without white space", async () => {
    await using it = await open();
    const answered = async (headers: Readonly<Record<string, string>>) =>
      (await fetch(it.url, { method: "PUT", headers, body: "grün" })).text();
    const indented = '{\n  "size": 5\n}\n';
    assert.equal(await answered({ accept: "application/json" }), '{"size":5}\n');
    for (const accept of ["*/*", "text/html,application/json"]) assert.equal(await answered({ accept }), indented);
  });

  const answers: readonly (readonly [path: string, status: number, type: string | null, text: RegExp])[] = [
    ["/old", 302, "text/plain; charset=utf-8", /^$/],
    ["/text", 200, "text/plain; charset=utf-8", /^a text$/],
    ["/html?a=b", 200, "text/html", /^<p>$/],
    ["/broken", 500, "application/json", /"error": "no such shard"/],
    ["/none", 404, "application/json", /"error": "no page \/none",\n {2}"pages": \[/],
  ];
  for (const [path, status, type, text] of answers)
    it(`answer ${path} with ${status}`, async () => {
      await using it = await open();
      const answer = await fetch(new URL(path, it.url), { redirect: "manual" });
      assert.deepEqual([answer.status, answer.headers.get("content-type")], [status, type]);
      assert.equal(answer.headers.get("location"), status === 302 ? "/size" : null);
      assert.match(await answer.text(), text);
    });

  it("refuse callers before they look for the page", async () => {
    await using it = await open();
    const answer = await fetch(new URL("/none", it.url), { headers: { authorization: "wrong" } });
    assert.deepEqual([answer.status, await answer.json()], [401, { error: "no such caller" }]);
  });

  it("answer 413 to a larger body that announces no length", async () => {
    await using it = await open();
    const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
    const sending = request(it.url, { method: "PUT", agent: false }, ({ statusCode }) => resolve(statusCode));
    sending.on("error", reject).write(Buffer.alloc(4 * mib));
    sending.end("1");
    assert.equal(await promise, 413);
  });

  it("hold 16 MiB of bodies of one address that are being sent: the next is answered 503", async () => {
    await using it = await open();
    using bodies = holdBodies(5, 4 * mib, (headers) => request(it.url, { method: "PUT", agent: false, headers }));
    assert.equal(await bodies.firstStatus, 503);
  });

  it("keep 256 silent connections of one address, and answer beside them", async () => {
    await using it = await open();
    const port = Number(new URL(it.url).port);
    using silent = await openIdle(() => connect(port, "127.0.0.1"), 300);
    await until(() => silent.left() <= 256, { withinMs: 30_000, what: "the bound of silent connections", everyMs: 5 });
    assert.equal(silent.left(), 256);
    assert.equal((await fetch(it.url, { method: "PUT", body: "1" })).status, 200);
  });

  it("do not keep probes waiting", async () => {
    await using it = await open();
    const large = Array.from({ length: 60 }, async () => (await fetch(new URL("/large", it.url))).text());
    await large[0];
    const probe = await (await fetch(new URL("/ready?verbose", it.url))).text();
    assert.ok(Number.parseInt(probe, 10) < 60, `${probe} before the probe was answered`);
    const answered = (await Promise.all(large)).map(Number).sort((a, b) => a - b);
    assert.deepEqual(
      answered,
      Array.from({ length: 60 }, (_, at) => at + 1),
    );
  });
});
