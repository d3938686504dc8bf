/** Requests to an API server and its answers: method, headers and body of each, and refusals apart from failures. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import { KubeError } from "./errors.ts";
import { type KubeApi, openKubeApi } from "./kube-api.ts";

/** An API server that answers as the test has it; `refused` counts answers after which credentials are asked for anew. */
async function open(listener: RequestListener) {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  const state = { refused: 0 };
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const onRefused = () => void state.refused++;
  const api = openKubeApi({ server: url, credentials: async () => ({}), onRefused });
  const end = async () => {
    api[Symbol.dispose]();
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  };
  return { api, state, [Symbol.asyncDispose]: end };
}

async function errorOf(work: Promise<unknown>): Promise<KubeError> {
  const error = await work.then(
    () => assert.fail("it was taken"),
    (cause: unknown) => cause,
  );
  assert.ok(error instanceof KubeError, String(error));
  return error;
}

const statuses = [
  { status: 400, code: "KUBE_REFUSED" },
  { status: 401, code: "KUBE_REFUSED" },
  { status: 403, code: "KUBE_REFUSED" },
  { status: 409, code: "KUBE_CONFLICT" },
  { status: 410, code: "KUBE_REFUSED" },
  { status: 429, code: "KUBE_AWAY" },
  { status: 499, code: "KUBE_REFUSED" },
  { status: 500, code: "KUBE_AWAY" },
  { status: 503, code: "KUBE_AWAY" },
  { status: 302, code: "KUBE_REFUSED" },
];

describe("an answer of an API server", () => {
  for (const { status, code } of statuses)
    it(`of status ${status} is ${code}, with its sentence`, async () => {
      await using it = await open((_, response) => response.writeHead(status).end('{"message":"not so"}'));
      const error = await errorOf(it.api.get("/api/v1/x"));
      assert.deepEqual([error.code, error.status], [code, status]);
      assert.match(error.message, new RegExp(`GET /api/v1/x: ${status} not so$`));
      assert.equal(it.state.refused, status === 401 ? 1 : 0);
    });

  it("that is no Status is shown as it is, up to a length", async () => {
    await using it = await open((_, response) => response.writeHead(502).end(`<html>${"x".repeat(500)}`));
    const { message } = await errorOf(it.api.get("/x"));
    assert.match(message, /502 <html>x{194}$/);
  });

  it("that ends too early, or is no JSON, is a failure", async () => {
    await using it = await open(({ url }, response) => {
      if (url === "/cut") response.writeHead(200, { "content-length": "100" }).write("{", () => response.destroy());
      else response.end("{");
    });
    assert.equal((await errorOf(it.api.get("/cut"))).code, "KUBE_AWAY");
    assert.equal((await errorOf(it.api.get("/torn"))).code, "KUBE_AWAY");
  });

  it("of status 404 means that there is none, where something is read or deleted", async () => {
    await using it = await open((_, response) => response.writeHead(404).end("{}"));
    assert.deepEqual(
      [await it.api.get("/x"), await it.api.metadata("/x"), await it.api.delete("/x")],
      [undefined, undefined, false],
    );
    assert.equal((await errorOf(it.api.replace("/x", {}))).status, 404);
  });
});

interface Seen {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly accept: string | undefined;
  readonly tag: string | undefined;
  readonly type: string | undefined;
  readonly body: string;
}

async function seenOf(request: IncomingMessage): Promise<Seen> {
  let body = "";
  for await (const chunk of request.setEncoding("utf8")) body += String(chunk);
  const { method, url, headers } = request;
  return { method, url, accept: headers.accept, tag: headers["if-none-match"], type: headers["content-type"], body };
}

const json = "application/json";
const requests: readonly {
  readonly name: string;
  readonly call: (api: KubeApi) => Promise<unknown>;
  readonly seen: Partial<Seen>;
}[] = [
  { name: "get", call: (api) => api.get("/x"), seen: { method: "GET", accept: json, type: undefined, body: "" } },
  {
    name: "metadata",
    call: (api) => api.metadata("/x"),
    seen: { method: "GET", accept: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1" },
  },
  {
    name: "tag of kinds",
    call: (api) => api.kindsTag('"a"'),
    seen: {
      ...{ method: "GET", url: "/apis", tag: '"a"' },
      accept:
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json",
    },
  },
  { name: "create", call: (api) => api.create("/x", { a: 1 }), seen: { method: "POST", type: json, body: '{"a":1}' } },
  { name: "replace", call: (api) => api.replace("/x", { a: 1 }), seen: { method: "PUT", type: json, body: '{"a":1}' } },
  {
    name: "apply",
    call: (api) => api.apply("/x", { a: "ä" }, { fieldManager: "m", force: true }),
    seen: {
      ...{ method: "PATCH", url: "/x?fieldManager=m&force=true", type: "application/apply-patch+yaml" },
      body: '{"a":"ä"}',
    },
  },
  { name: "delete", call: (api) => api.delete("/x"), seen: { method: "DELETE", body: "", type: undefined } },
  {
    name: "delete of a version",
    call: (api) => api.delete("/x", { resourceVersion: "7" }),
    seen: { method: "DELETE", body: '{"preconditions":{"resourceVersion":"7"}}' },
  },
];

describe("a request to an API server", () => {
  for (const { name, call, seen } of requests)
    it(`by ${name} asks for what it says`, async () => {
      const all: Seen[] = [];
      await using it = await open(async (request, response) => {
        all.push(await seenOf(request));
        response.end("{}");
      });
      await call(it.api);
      assert.equal(all.length, 1);
      assert.deepEqual({ ...all[0], url: "/x", ...seen }, { ...all[0], url: seen.url ?? "/x" });
    });
});

describe("lines of an API server", () => {
  const never = new AbortController().signal;
  const read = async (lines: AsyncIterable<unknown>) => {
    const found: unknown[] = [];
    for await (const line of lines) found.push(line);
    return found;
  };

  it("come as objects or as texts, however they are cut, after it has begun to answer", async () => {
    await using it = await open(async (_, response) => {
      for (const part of ['{"a"', ":1}\n\n", '{"b":2}\n{"c"', ":3}\n", "rest"]) {
        response.write(part);
        await new Promise(setImmediate);
      }
      response.end();
    });
    let opened = 0;
    assert.deepEqual(await read(it.api.lines("/x", never, () => opened++)), [{ a: 1 }, { b: 2 }, { c: 3 }]);
    assert.equal(opened, 1);
    assert.deepEqual(await read(it.api.textLines("/x", never)), ['{"a":1}', '{"b":2}', '{"c":3}']);
  });

  it("are none where it refuses, and a failure where it breaks off", async () => {
    await using it = await open(({ url }, response) => {
      if (url === "/gone") response.writeHead(410).end('{"message":"too old"}');
      else response.write('{"a":1}\n', () => setImmediate(() => response.destroy()));
    });
    const refusal = await errorOf(read(it.api.lines("/gone", never, () => assert.fail("it has not begun"))));
    assert.deepEqual([refusal.status, /too old/.test(refusal.message)], [410, true]);
    assert.equal((await errorOf(read(it.api.lines("/x", never)))).code, "KUBE_AWAY");
  });

  it("that are no JSON, or have no end, are a failure", async () => {
    await using it = await open(({ url }, response) => {
      if (url === "/torn") return void response.end('{"a":1}\n<html>\n');
      const more = () => void (response.destroyed || response.write("x".repeat(4 * 1024 * 1024), more));
      more();
    });
    const torn = await errorOf(read(it.api.lines("/torn", never)));
    assert.deepEqual([torn.code, /GET \/torn at .*JSON/.test(torn.message)], ["KUBE_AWAY", true]);
    const endless = await errorOf(read(it.api.textLines("/endless", never)));
    assert.match(endless.message, /a line is longer than \d+ characters$/);
  });

  it("end when their reader stops", async () => {
    await using it = await open((_, response) => void response.write('{"a":1}\n'));
    const stop = new AbortController();
    for await (const line of it.api.lines("/x", stop.signal)) {
      assert.deepEqual(line, { a: 1 });
      stop.abort();
    }
  });
});
