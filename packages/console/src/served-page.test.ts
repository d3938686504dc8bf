/** The files of the built page: which are found by which path, and the headers that they are sent with. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type PageFiles, readPageFiles, sendPageFile } from "./served-page.ts";

const directory = mkdtempSync(join(tmpdir(), "page-files-"));
after(() => rmSync(directory, { recursive: true }));
mkdirSync(join(directory, "assets/fonts"), { recursive: true });
const written: Readonly<Record<string, string>> = {
  "index.html": "<html>",
  "assets/main-AbCd_123.js": "code();",
  "assets/fonts/text-12345678.woff2": "font",
  "icon.svg": "<svg>",
  // Of no type that is served.
  "assets/main.map": "map",
};
for (const [name, content] of Object.entries(written)) writeFileSync(join(directory, name), content);

describe("the files of the built page", () => {
  let files: PageFiles;
  before(async () => {
    files = await readPageFiles(directory);
  });

  const cases: readonly (readonly [path: string, content: string | undefined, type?: string, isImmutable?: boolean])[] =
    [
      ["/index.html", "<html>", "text/html; charset=utf-8", false],
      ["/assets/main-AbCd_123.js", "code();", "text/javascript; charset=utf-8", true],
      ["/assets/fonts/text-12345678.woff2", "font", "font/woff2", true],
      ["/icon.svg", "<svg>", "image/svg+xml", false],
      ["/assets/main.map", undefined],
      ["/assets/none.js", undefined],
      ["/", "<html>", "text/html; charset=utf-8", false],
      ["/objects/Gateway/shop/web.v1", "<html>", "text/html; charset=utf-8", false],
      ["/../page-files/index.html", "<html>", "text/html; charset=utf-8", false],
    ];
  for (const [path, content, type, isImmutable] of cases)
    it(`answers ${path} with ${content ?? "nothing"}`, () => {
      const found = files.find(path);
      assert.deepEqual([found?.bytes.toString(), found?.contentType, found?.isImmutable], [content, type, isImmutable]);
    });

  it("are four: those whose types are known", () => assert.equal(files.count, 4));

  it("are none of a directory that is not there; another failure is one", async () => {
    const none = await readPageFiles(join(directory, "none"));
    assert.deepEqual([none.count, none.find("/")], [0, undefined]);
    await assert.rejects(readPageFiles(join(directory, "index.html")), { code: "ENOTDIR" });
  });

  it("are sent compressed to callers that take it, cached for ever where the name has a hash, without a body for HEAD", async () => {
    const server = createServer((request, response) => {
      const file = files.find(request.url ?? "");
      if (file === undefined) response.writeHead(404).end();
      else sendPageFile(file, request, response);
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const ask = async (path: string, encoding: string, method = "GET") => {
      const answer = await fetch(`${url}${path}`, { method, headers: { "accept-encoding": encoding } });
      const of = (name: string) => answer.headers.get(name);
      return [
        await answer.text(),
        of("content-encoding"),
        of("cache-control"),
        of("vary"),
        Number(of("content-length")),
      ];
    };
    const gzipped = files.find("/")?.gzipped.byteLength;
    assert.deepEqual(await ask("/", "br, gzip;q=0.5"), ["<html>", "gzip", "no-cache", "accept-encoding", gzipped]);
    assert.deepEqual(await ask("/", "identity"), ["<html>", null, "no-cache", "accept-encoding", 6]);
    assert.deepEqual(await ask("/", "identity", "HEAD"), ["", null, "no-cache", "accept-encoding", 6]);
    const [, , cached] = await ask("/assets/main-AbCd_123.js", "identity");
    assert.equal(cached, "public, max-age=31536000, immutable");
    server.closeAllConnections();
    server.close();
  });
});
