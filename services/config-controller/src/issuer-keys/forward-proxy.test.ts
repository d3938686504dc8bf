/** Hosts that are asked by a proxy, and documents that come through one. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, request } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { describe, it } from "node:test";
import { createTestAuthority } from "@flotilla/testkit";
import { addressRules } from "./address-rules.ts";
import { proxyOf, proxyUrl } from "./forward-proxy.ts";
import { guardedFetch } from "./guarded-fetch.ts";

const http = "http://p.example:3128";
const https = "https://u:p@q.example";

describe("a proxy", () => {
  const ask = (uri: string, ...except: readonly string[]) => proxyOf({ https, http, except })(new URL(uri));
  it("is that of the scheme", () => {
    assert.deepEqual(
      ["http://a.example/", "https://a.example/"].map((uri) => ask(uri)),
      [http, https],
    );
    assert.equal(proxyOf({ https, http: undefined, except: [] })(new URL("http://a.example/")), undefined);
  });

  for (const [except, uri, isAsked] of [
    ["*", "https://a.example/", false],
    ["a.example", "https://a.example/", false],
    ["a.example", "https://b.a.example/", false],
    ["a.example", "https://ba.example/", true],
    [".a.example", "https://a.example/", true],
    [".a.example", "https://b.a.example/", false],
    ["*.a.example", "https://b.a.example/", false],
    [" A.Example ", "https://a.EXAMPLE./", false],
    ["a.example:8443", "https://a.example/", true],
    ["a.example:8443", "https://a.example:8443/", false],
    ["a.example:443", "https://a.example/", false],
    ["a.example:80", "http://a.example/", false],
    ["192.0.2.0/24", "https://192.0.2.7/", false],
    ["192.0.2.0/24", "https://192.0.3.7/", true],
    ["192.0.2.0/24", "https://a.example/", true],
    ["192.0.2.0/x", "https://192.0.2.7/", true],
    ["192.0.2.7", "https://192.0.2.7/", false],
    ["2001:db8::1", "https://[2001:db8::1]/", false],
    ["2001:db8::/32", "https://[2001:db8::1]/", false],
    ["[2001:db8::1]:443", "https://[2001:db8::1]/", false],
    ["", "https://localhost/", false],
    ["", "https://127.0.0.2/", false],
    ["", "https://[::1]/", false],
    ["", "https://a.example/", true],
  ] as const)
    it(`is ${isAsked ? "" : "not "}asked for ${uri} without '${except}'`, () =>
      assert.equal(ask(uri, except) !== undefined, isAsked));

  it("is one of HTTP", () => {
    assert.equal(proxyUrl("p.example:3128"), "http://p.example:3128");
    for (const wrong of ["socks5://p.example:1080", "http://", "://"])
      assert.throws(() => proxyUrl(wrong), /is no URL/);
    assert.throws(() => proxyUrl("http://u%:p@p.example"), URIError);
  });
});

/** Passes on whatever host is named to this one. */
async function aProxy() {
  const asked: string[] = [];
  const server = createServer((incoming: IncomingMessage, answer) => {
    asked.push(`GET ${incoming.url} ${incoming.headers["proxy-authorization"] ?? ""}`.trim());
    const { port, pathname } = new URL(incoming.url ?? "");
    request({ host: "127.0.0.1", port, path: pathname }, (found) => found.pipe(answer)).end();
  });
  server.on("connect", ({ url = "", headers }: IncomingMessage, socket: Socket) => {
    asked.push(`CONNECT ${url} ${headers["proxy-authorization"] ?? ""}`.trim());
    const upstream = connect(Number(url.split(":").at(-1)), "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      socket.pipe(upstream).pipe(socket);
    });
    upstream.on("error", () => undefined).once("close", () => socket.destroy());
    socket.on("error", () => undefined).once("close", () => upstream.destroy());
  });
  return { asked, ...(await listening(server)) };
}

async function listening(server: ReturnType<typeof createServer> | ReturnType<typeof createTlsServer>) {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

describe("documents through a proxy", () => {
  const never = new AbortController().signal;
  const fetcher = (proxy: string, roots: readonly string[] = []) =>
    guardedFetch({
      rules: addressRules([], []),
      roots,
      proxyOf: proxyOf({ https: proxy, http: proxy, except: [] }),
      resolve: () => assert.fail("a name is resolved here"),
    });

  it("are asked for by their name, and over TLS checked as without it", async () => {
    const authority = await createTestAuthority(Date.now());
    const { certificatePem: cert, keyPem: key } = await authority.keyPair();
    await using proxy = await aProxy();
    await using plain = await listening(createServer((_, response) => response.end("plain")));
    await using secure = await listening(createTlsServer({ cert, key }, (_, response) => response.end("tls")));
    const read = fetcher(`http://u:p@127.0.0.1:${proxy.port}`, [authority.rootPem]);
    assert.equal(await read(`http://a.test:${plain.port}/keys`, 5_000, never), "plain");
    assert.equal(await read(`https://web.example.com:${secure.port}/keys`, 5_000, never), "tls");
    await assert.rejects(read(`https://b.test:${secure.port}/`, 5_000, never), /ERR_TLS_CERT_ALTNAME_INVALID/);
    const authorized = `Basic ${btoa("u:p")}`;
    assert.deepEqual(proxy.asked, [
      `GET http://a.test:${plain.port}/keys ${authorized}`,
      `CONNECT web.example.com:${secure.port} ${authorized}`,
      `CONNECT b.test:${secure.port} ${authorized}`,
    ]);
  });

  it("fail where the proxy refuses or is not there", async () => {
    const server = createServer().on("connect", (_, socket) => socket.end("HTTP/1.1 403 Forbidden\r\n\r\n"));
    const proxy = await listening(server);
    const read = fetcher(`http://127.0.0.1:${proxy.port}`);
    await assert.rejects(read("https://a.test/", 5_000, never), /not reached by the proxy, .* status 403/);
    await proxy[Symbol.asyncDispose]();
    for (const uri of ["https://a.test/", "http://a.test/"])
      await assert.rejects(read(uri, 5_000, never), /KEYS_UNREACHABLE\] cannot be asked: ECONNREFUSED/);
  });

  it("are not asked for at closed addresses", async () => {
    await using proxy = await aProxy();
    const read = fetcher(`http://127.0.0.1:${proxy.port}`);
    await assert.rejects(read("http://169.254.169.254/", 5_000, never), /only addresses that are private/);
    assert.deepEqual(proxy.asked, []);
  });

  it("are waited for as long as they may take", async () => {
    const sockets: Duplex[] = [];
    const server = createServer(() => undefined).on("connect", (_, socket) => sockets.push(socket));
    await using silent = await listening(server);
    const read = fetcher(`http://127.0.0.1:${silent.port}`);
    for (const uri of ["http://a.test/", "https://a.test/"])
      await assert.rejects(read(uri, 100, never), /did not answer within 100 ms/);
    for (const socket of sockets) socket.destroy();
  });
});
