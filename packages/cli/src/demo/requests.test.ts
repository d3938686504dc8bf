import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { startEchoServer } from "@flotilla/dataplane";
import { parse } from "yaml";
import { copySample, meshFolder } from "./mesh-folder.ts";
import { call, formatCounts } from "./requests.ts";

const directory = mkdtempSync(join(tmpdir(), "flotilla-demo-"));
after(() => rmSync(directory, { recursive: true }));

describe("requests of the demo", () => {
  it("are sent through the proxy with the host and headers that are asked for", async () => {
    await using proxy = await startEchoServer("v1");
    const { status, reply } = await call("reviews:8080", { "x-canary": "yes" }, "/status/204x", {
      host: "127.0.0.1",
      port: proxy.port,
    });
    assert.equal(status, 204);
    assert.equal(reply, undefined);
    const answered = await call("reviews:8080", { "x-canary": "yes" }, "/a", { host: "127.0.0.1", port: proxy.port });
    assert.equal(answered.status, 200);
    assert.deepEqual([answered.reply?.version, answered.reply?.path], ["v1", "/a"]);
    assert.deepEqual([answered.reply?.headers["host"], answered.reply?.headers["x-canary"]], ["reviews:8080", "yes"]);
  });

  it("have no reply when a proxy answers with a page of its own", async () => {
    const server = createServer((_, response) => response.writeHead(503).end("no healthy upstream"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    assert.deepEqual(await call("reviews:8080", {}, "/", { host: "127.0.0.1", port }), {
      status: 503,
      reply: undefined,
    });
    await new Promise((resolve) => server.close(resolve));
    await assert.rejects(call("reviews:8080", {}, "/", { host: "127.0.0.1", port }), { code: "ECONNREFUSED" });
  });

  it("are counted in the order of versions", () => {
    assert.equal(
      formatCounts(
        new Map([
          ["v2", 1],
          ["HTTP 503", 2],
          ["v1", 9],
        ]),
      ),
      "HTTP 503 2, v1 9, v2 1",
    );
  });
});

describe("an echo server", () => {
  it("fails, waits and answers as the path says, and as it is set for all", async () => {
    await using server = await startEchoServer("v1");
    const get = async (path: string) => (await call("a", {}, path, { host: "127.0.0.1", port: server.port })).status;
    assert.deepEqual([await get("/flaky/2/a"), await get("/flaky/2/a"), await get("/flaky/2/a")], [503, 503, 200]);
    assert.equal(await get("/flaky/2/b"), 503);
    assert.equal(await get("/status/418"), 418);
    const started = performance.now();
    assert.equal(await get("/delay/50"), 200);
    assert.ok(performance.now() - started >= 45);
    server.answerAllWith(500);
    assert.equal(await get("/status/418"), 500);
    server.answerAllWith(undefined);
    assert.equal(await get("/"), 200);
    assert.equal(server.requests(), 8);
  });
});

describe("the demo's mesh", () => {
  it("is a copy of the sample in place of an earlier one, whose route can be replaced in one step", () => {
    const mesh = copySample(directory);
    assert.equal(mesh.path, join(directory, "demo-mesh"));
    const files = readdirSync(mesh.path).sort();
    assert.ok(files.includes("routes.yaml"));
    writeFileSync(join(mesh.path, "old.yaml"), "");
    copySample(directory);
    assert.deepEqual(readdirSync(mesh.path).sort(), files);
    meshFolder(directory).routeAllTo("v2");
    assert.deepEqual(readdirSync(mesh.path).sort(), files);
    const { kind, spec } = parse(readFileSync(join(mesh.path, "routes.yaml"), "utf8"));
    assert.deepEqual([kind, spec.http[0].route[0].destination.subset], ["VirtualService", "v2"]);
  });
});
