/** Questions to an agent over HTTP: what is sent, and what becomes of each kind of answer. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { ConsulClient, type ConsulClientOptions, type ConsulQuestion } from "./consul-client.ts";
import { readCatalog, readDatacenters } from "./read-catalog.ts";
import { Slots } from "./slots.ts";

const directory = mkdtempSync(join(tmpdir(), "consul-client-"));
after(() => rmSync(directory, { recursive: true }));
const running = new AbortController().signal;

async function anAgent(answer: RequestListener) {
  const seen: { readonly url: string; readonly token: unknown }[] = [];
  const server = createServer((request, response) => {
    seen.push({ url: request.url ?? "", token: request.headers["x-consul-token"] });
    answer(request, response);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const ask = async (question: ConsulQuestion, options: Partial<ConsulClientOptions> = {}, stop = running) => {
    using client = new ConsulClient({ url, ...options });
    return await client.ask(question, stop);
  };
  const close = async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  };
  return { url, seen, ask, [Symbol.asyncDispose]: close };
}

describe("a question to an agent", () => {
  it("has its parameters that are set, and waits for what is newer than an index", async () => {
    await using agent = await anAgent((_, response) => response.setHeader("x-consul-index", "8").end('{"a":[]}'));
    const parameters = { dc: "dc1", ns: "" };
    assert.deepEqual(await agent.ask({ path: "/v1/catalog/services", parameters }), { body: { a: [] }, index: 8 });
    await agent.ask({ path: "/p", index: 7, waitMs: 1_500 });
    await agent.ask({ path: "/p", index: 0, waitMs: 1_500 });
    assert.deepEqual(
      agent.seen.map(({ url }) => url),
      ["/v1/catalog/services?dc=dc1", "/p?index=7&wait=2s", "/p"],
    );
  });

  it("has the token, that of the file as it is now", async () => {
    await using agent = await anAgent((_, response) => response.end("[]"));
    const tokenFile = join(directory, "token");
    await agent.ask({ path: "/" });
    await agent.ask({ path: "/" }, { token: "fixed" });
    for (const text of ["one\n", "two\n"]) {
      writeFileSync(tokenFile, text);
      await agent.ask({ path: "/" }, { token: "fixed", tokenFile });
    }
    assert.deepEqual(
      agent.seen.map(({ token }) => token),
      [undefined, "fixed", "one", "two"],
    );
    await assert.rejects(agent.ask({ path: "/" }, { tokenFile: join(directory, "none") }), {
      code: "CONSUL_REFUSED",
      message: /the token file .*none cannot be read: .*ENOENT/,
    });
    assert.equal(agent.seen.length, 4);
  });

  for (const [header, index] of [
    [undefined, 0],
    ["many", 0],
    ["12", 12],
  ] as const)
    it(`has the index ${index} where the agent says ${header}`, async () => {
      await using agent = await anAgent((_, response) => {
        if (header !== undefined) response.setHeader("x-consul-index", header);
        response.end("[]");
      });
      assert.equal((await agent.ask({ path: "/" })).index, index);
    });

  it("that is refused has the status and what the agent says", async () => {
    await using agent = await anAgent((_, response) =>
      response.writeHead(403).end(` Permission denied ${"x".repeat(300)}`),
    );
    await assert.rejects(agent.ask({ path: "/v1/p" }), (error: Error & { code?: string }) => {
      assert.equal(error.code, "CONSUL_REFUSED");
      assert.match(error.message, /http:\/\/127\.0\.0\.1:\d+\/v1\/p: status 403: Permission denied x+$/);
      assert.ok(error.message.length < 320);
      return true;
    });
  });

  it("whose answer is no JSON is a failure of its own", async () => {
    await using agent = await anAgent((_, response) => response.end("<html>"));
    await assert.rejects(agent.ask({ path: "/v1/p" }), { code: "CONSUL_ANSWER", message: /the answer is no JSON/ });
  });

  it("without an answer, or cut off, is one of a line", async () => {
    await using agent = await anAgent((_, response) => {
      response.writeHead(200, { "content-length": "10" }).write("[");
      response.destroy();
    });
    await assert.rejects(agent.ask({ path: "/" }), { code: "CONSUL_UNREACHABLE" });
    await assert.rejects(agent.ask({ path: "/x" }, { url: "http://127.0.0.1:1" }), {
      code: "CONSUL_UNREACHABLE",
      message: /http:\/\/127\.0\.0\.1:1\/x: .*ECONNREFUSED/,
    });
    await assert.rejects(agent.ask({ path: "/x" }, { url: "https://127.0.0.1:1" }), { code: "CONSUL_UNREACHABLE" });
  });

  it("ends with the reason of a stop", async () => {
    const stop = new AbortController();
    await using agent = await anAgent(() => stop.abort(new Error("stopped")));
    await assert.rejects(agent.ask({ path: "/", index: 1, waitMs: 60_000 }, {}, stop.signal), /stopped/);
  });
});

describe("a catalog read afresh", () => {
  const node = { Node: "n", Address: "10.0.0.1" };
  const pages: Readonly<Record<string, unknown>> = {
    "/v1/catalog/services?dc=dc1&partition=p": { "a b": [], web: [] },
    "/v1/health/service/a%20b?dc=dc1&partition=p": [],
    "/v1/health/service/web?dc=dc1&partition=p": [{ Node: node, Service: { ID: "web-1" } }, "wrong"],
    "/v1/catalog/datacenters": ["dc1", "dc2"],
  };

  it("has every service with the instances that can be read", async () => {
    await using agent = await anAgent((request, response) => response.end(JSON.stringify(pages[request.url ?? ""])));
    using client = new ConsulClient({ url: agent.url });
    const scope = { datacenter: "dc1", namespace: "", partition: "p" };
    const events = await readCatalog(client, scope, new Slots(1), running);
    assert.deepEqual(
      events.map(({ key, instances }) => [key, instances.map(({ id }) => id)]),
      [
        [{ ...scope, name: "a b" }, []],
        [{ ...scope, name: "web" }, ["web-1"]],
      ],
    );
    assert.deepEqual(await readDatacenters(client, running), ["dc1", "dc2"]);
  });
});
