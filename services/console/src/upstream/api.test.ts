/** Calls of the API with the caller's token: where it is, what it refuses, and which document a cause is about. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { createAuthority } from "@flotilla/auth/testing";
import { RequestRefused } from "../errors.ts";
import { createApi } from "./api.ts";
import { createServices } from "./services.ts";

const authority = await createAuthority();
const { keyPem, chainPem } = await authority.material(["localhost"]);
const directory = mkdtempSync(join(tmpdir(), "flotilla-console-api-"));
after(() => rmSync(directory, { recursive: true }));
const rootFile = join(directory, "root.pem");
writeFileSync(rootFile, authority.rootPem);

type Answer = (request: IncomingMessage, response: ServerResponse) => void;
const json =
  (status: number, value: unknown): Answer =>
  (_, response) =>
    void response.writeHead(status).end(typeof value === "string" ? value : JSON.stringify(value));

/** The API, and config-controller's page that names it, unless `page` answers. */
async function setUp(answer: Answer, page?: Answer) {
  const asked: (string | undefined)[] = [];
  const api = createTlsServer({ key: keyPem, cert: chainPem }, (request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.authorization}`);
    answer(request, response);
  }).listen(0, "127.0.0.1");
  await once(api, "listening");
  const url = `https://localhost:${(api.address() as AddressInfo).port}`;
  const pages = createServer(page ?? json(200, { url })).listen(0, "127.0.0.1");
  await once(pages, "listening");
  const own = { name: "config-controller", url: `http://127.0.0.1:${(pages.address() as AddressInfo).port}` };
  const none = { "service-controller": [], "xds-server": [], ca: [], webhook: [] };
  const services = createServices({ addresses: { "config-controller": [own], ...none }, timeoutMs: 5_000 });
  const close = async () => {
    for (const server of [api, pages]) {
      server.closeAllConnections();
      server.close();
    }
  };
  return { asked, services, url, [Symbol.asyncDispose]: close };
}

async function refusalOf(answer: Answer, page?: Answer) {
  await using it = await setUp(answer, page);
  const api = createApi({ services: it.services, url: undefined, rootFile, timeoutMs: 5_000 });
  const error = await api.call("t", "POST", "/objects", {}).then(
    () => assert.fail("it was answered"),
    (refused: unknown) => refused,
  );
  assert.ok(error instanceof RequestRefused, String(error));
  return { code: error.code, message: error.message, causes: error.causes };
}

describe("the API behind the console", () => {
  it("is asked where config-controller has it, with the caller's token", async () => {
    await using it = await setUp(json(200, { a: 1 }));
    const api = createApi({ services: it.services, url: undefined, rootFile, timeoutMs: 5_000 });
    assert.deepEqual(await api.call("t", "GET", "/objects"), { a: 1 });
    assert.deepEqual(it.asked, ["GET /objects Bearer t"]);
  });
  it("is asked at its own address where one is set", async () => {
    await using it = await setUp(json(200, 1), json(500, "not asked"));
    const api = createApi({ services: it.services, url: it.url, rootFile, timeoutMs: 5_000 });
    assert.equal(await api.call("t", "DELETE", "/objects/a"), 1);
  });
  it("names the document of a cause, and the field within", async () => {
    const causes = [
      { field: "items[2].spec.http", message: "a" },
      { field: "items[0]", message: "b" },
      { field: "spec", message: "c" },
    ];
    const refused = await refusalOf(json(400, { message: "no", details: { causes } }));
    assert.match(refused.message, /no/);
    assert.equal(refused.code, "invalid");
    assert.deepEqual(refused.causes, [
      { item: 2, field: "spec.http", message: "a" },
      { item: 0, field: "", message: "b" },
      { field: "spec", message: "c" },
    ]);
  });
  for (const { name, answer, page, code, message } of [
    { name: "invalid without causes", answer: json(422, { message: "m" }), code: "invalid", message: /m/ },
    { name: "without a reason", answer: json(409, {}), code: "conflict", message: /the API answers 409/ },
    { name: "for the caller's rights", answer: json(403, { message: "m" }), code: "forbidden", message: /m/ },
    { name: "in no JSON", answer: json(200, "<html>"), code: "upstream", message: /what is no JSON: <html>/ },
    {
      ...{ name: "where there is none", answer: json(200, 1), page: json(200, { url: null }) },
      ...{ code: "not-found", message: /serves no API here/ },
    },
  ])
    it(`refuses ${name}`, async () => {
      const refused = await refusalOf(answer, page);
      assert.equal(refused.code, code);
      assert.match(refused.message, message);
    });
  it("is away where the API does not answer, or the root cannot be read", async () => {
    await using it = await setUp(json(200, 1));
    const at = { services: it.services, timeoutMs: 5_000 };
    const gone = createApi({ ...at, url: "https://127.0.0.1:1", rootFile });
    await assert.rejects(gone.call("t", "GET", "/"), {
      code: "away",
      message: /does not answer: connect ECONNREFUSED/,
    });
    const rootless = createApi({ ...at, url: it.url, rootFile: join(directory, "none") });
    await assert.rejects(rootless.call("t", "GET", "/"), { code: "away", message: /cannot be read from/ });
  });
});
