/** The back end of tests and demos: what it reports, and the paths that make it fail or wait. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type EchoReply, type EchoServer, startEchoServer } from "./echo-server.ts";

async function ask({ port }: EchoServer, path: string) {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { "x-a": "b" } });
  const reply = (await answer.json()) as EchoReply;
  return { status: answer.status, version: answer.headers.get("x-version"), reply };
}

describe("the echo server", () => {
  it("reports itself, the path and the headers", async () => {
    await using server = await startEchoServer("v1");
    const { status, version, reply } = await ask(server, "/a?b=c");
    assert.deepEqual([status, version, reply.version, reply.path], [200, "v1", "v1", "/a?b=c"]);
    assert.equal(reply.headers["x-a"], "b");
  });
  it("answers with the status of the path, or the first requests of a path with 503", async () => {
    await using server = await startEchoServer("v1");
    const statuses = [];
    for (const path of [
      "/status/418",
      "/flaky/2/k",
      "/flaky/2/k",
      "/flaky/2/other",
      "/flaky/2/k",
      "/flaky/0/k",
      "/status/99",
    ])
      statuses.push((await ask(server, path)).status);
    assert.deepEqual(statuses, [418, 503, 503, 503, 200, 200, 200]);
    assert.equal(server.requests(), 7);
  });
  it("answers all with one status, until that is over", async () => {
    await using server = await startEchoServer("v1");
    server.answerAllWith(500);
    assert.equal((await ask(server, "/status/204/x")).status, 500);
    server.answerAllWith(undefined);
    assert.equal((await ask(server, "/status/201")).status, 201);
  });
  it("waits as long as the path has it", async () => {
    await using server = await startEchoServer("v1");
    const since = performance.now();
    await ask(server, "/delay/50");
    assert.ok(performance.now() - since >= 49);
  });
  it("fails where its port is taken", async () => {
    await using server = await startEchoServer("v1");
    await assert.rejects(startEchoServer("v2", server.port), { code: "EADDRINUSE" });
  });
  it("ends with its owner", async () => {
    const server = await startEchoServer("v1");
    await ask(server, "/");
    await server[Symbol.asyncDispose]();
    await assert.rejects(ask(server, "/"));
  });
});
