/** Documents of real servers on this host: bounds, redirects, addresses, certificates. */
import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import { createTestAuthority } from "@flotilla/testkit";
import { addressRules } from "./address-rules.ts";
import { checkedKeySet, fetchKeys } from "./fetch-keys.ts";
import { type GuardedFetchOptions, guardedFetch } from "./guarded-fetch.ts";
import { IssuerKeysError } from "./key-errors.ts";

const never = new AbortController().signal;
const here = addressRules(["127.0.0.0/8"], []);

async function serve(listener: RequestListener, tls?: { cert: string; key: string }) {
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const read = (uri: string, options: Partial<GuardedFetchOptions> = {}, timeoutMs = 5_000) =>
  guardedFetch({ rules: here, roots: [], ...options })(uri, timeoutMs, never);

async function refusal(work: Promise<string>): Promise<string> {
  try {
    await work;
  } catch (error) {
    assert.ok(error instanceof IssuerKeysError, String(error));
    return `${error.code} ${error.reason}`;
  }
  return assert.fail("nothing was refused");
}

describe("a document", () => {
  it("is read, over a few redirects", async () => {
    await using server = await serve(({ url }, response) => {
      if (url === "/keys") response.end("the keys");
      else response.writeHead(302, { location: url === "/a" ? "/b" : "keys" }).end();
    });
    assert.equal(await read(`http://127.0.0.1:${server.port}/keys`), "the keys");
    assert.equal(await read(`http://127.0.0.1:${server.port}/a`), "the keys");
  });

  it("that redirects for ever, to a closed address, or to another scheme is refused", async () => {
    let asked = 0;
    await using server = await serve(({ url = "" }, response) => {
      asked++;
      const location = { "/meta": "http://169.254.169.254/", "/file": "file:///etc/passwd" }[url] ?? "/again";
      response.writeHead(302, { location }).end();
    });
    const at = `http://127.0.0.1:${server.port}`;
    assert.equal(await refusal(read(`${at}/`)), "KEYS_UNUSABLE is redirected more than 3 times");
    assert.equal(asked, 4);
    assert.match(await refusal(read(`${at}/meta`)), /^KEYS_UNREACHABLE has only addresses that are private/);
    assert.equal(await refusal(read(`${at}/file`)), "KEYS_UNUSABLE has the scheme file:");
  });

  it("of a closed address is not asked for, however that is written", async () => {
    let asked = 0;
    await using server = await serve((_, response) => {
      asked++;
      response.end("secret");
    });
    const strict = { rules: addressRules([], []), resolve: async () => ["127.0.0.1", "::1"] };
    for (const host of ["127.0.0.1", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "[::1]", "a.test"])
      assert.match(await refusal(read(`http://${host}:${server.port}/`, strict)), /^KEYS_UNREACHABLE has only/, host);
    assert.equal(asked, 0);
  });

  it("comes from the address that was checked, also when the name leads elsewhere a moment later", async () => {
    await using server = await serve((_, response) => response.end("checked"));
    await using other = await serve((_, response) => response.end("rebound"));
    const answers = [["127.0.0.1"], ["127.0.0.2"]];
    const resolve = async () => answers.shift() ?? [];
    assert.equal(await read(`http://a.test:${server.port}/`, { resolve }), "checked");
    assert.equal(answers.length, 1, "the name is resolved once");
    assert.notEqual(other.port, server.port);
  });

  it("of several addresses comes from one that is allowed", async () => {
    await using server = await serve((_, response) => response.end("keys"));
    const rules = addressRules(["127.0.0.1"], []);
    const resolve = async () => ["10.0.0.1", "127.0.0.2", "127.0.0.1"];
    assert.equal(await read(`http://a.test:${server.port}/`, { rules, resolve }), "keys");
  });

  it("that is too large, ends early, or is none is refused", async () => {
    await using server = await serve(({ url }, response) => {
      if (url === "/huge") response.end("x".repeat(200_000));
      else if (url === "/cut")
        response.writeHead(200, { "content-length": "100" }).write("x", () => response.destroy());
      else response.writeHead(404).end("no such page");
    });
    const at = `http://127.0.0.1:${server.port}`;
    assert.equal(await refusal(read(`${at}/huge`)), "KEYS_UNUSABLE answers with more than 131072 bytes");
    assert.equal(await refusal(read(`${at}/cut`)), "KEYS_UNREACHABLE ends its answer too early");
    assert.equal(await refusal(read(`${at}/`)), "KEYS_UNUSABLE answers with status 404");
  });

  for (const status of [300, 304, 400, 404, 500])
    it(`of status ${status} is ${status < 400 ? "looked for where it leads" : "refused wherever it leads"}`, async () => {
      await using server = await serve(({ url }, response) => {
        if (url === "/keys") response.end("the keys");
        else response.writeHead(status, { location: "/keys" }).end();
      });
      const document = read(`http://127.0.0.1:${server.port}/`);
      if (status < 400) assert.equal(await document, "the keys");
      else assert.equal(await refusal(document), `KEYS_UNUSABLE answers with status ${status}`);
    });

  it("of the largest size is read, and none that is larger or leads nowhere", async () => {
    await using server = await serve(({ url }, response) => {
      if (url === "/moved") response.writeHead(302).end();
      else response.end("x".repeat(url === "/large" ? 101 : 100));
    });
    const at = `http://127.0.0.1:${server.port}`;
    assert.equal((await read(at, { maxBytes: 100 })).length, 100);
    assert.equal(
      await refusal(read(`${at}/large`, { maxBytes: 100 })),
      "KEYS_UNUSABLE answers with more than 100 bytes",
    );
    assert.equal(await refusal(read(`${at}/moved`)), "KEYS_UNUSABLE answers with status 302");
  });

  it("is waited for as long as it may take", async () => {
    await using server = await serve(({ url }, response) => {
      if (url === "/drip") response.write("x");
    });
    const at = `http://127.0.0.1:${server.port}`;
    for (const path of ["/silent", "/drip"])
      assert.equal(await refusal(read(`${at}${path}`, {}, 100)), "KEYS_UNREACHABLE did not answer within 100 ms");
    const resolve = () => new Promise<never>(() => undefined);
    assert.match(await refusal(read("http://a.test/", { resolve }, 100)), /did not answer within 100 ms/);
  });

  it("without a host, of an unknown host, of an invalid URL, with a password", async () => {
    const server = await serve(() => undefined);
    await server[Symbol.asyncDispose]();
    assert.equal(
      await refusal(read(`http://127.0.0.1:${server.port}/`)),
      "KEYS_UNREACHABLE cannot be asked: ECONNREFUSED",
    );
    const resolve = () => Promise.reject(new Error("ENOTFOUND"));
    assert.match(await refusal(read("http://a.test/", { resolve })), /KEYS_UNREACHABLE has a host without an address/);
    assert.match(await refusal(read("keys")), /KEYS_UNUSABLE is no URL/);
    assert.match(await refusal(read("http://u:p@a.test/")), /KEYS_UNUSABLE holds a user/);
  });

  it("over TLS needs a root that vouches for its host, and is not asked for in plain text afterwards", async () => {
    const authority = await createTestAuthority(Date.now());
    const { certificatePem: cert, keyPem: key } = await authority.keyPair();
    await using plain = await serve((_, response) => response.end("plain"));
    await using server = await serve(
      ({ url }, response) =>
        url === "/down"
          ? response.writeHead(302, { location: `http://a.test:${plain.port}/` }).end()
          : response.end("tls"),
      { cert, key },
    );
    const resolve = async () => ["127.0.0.1"];
    const options = { resolve, roots: [authority.rootPem] };
    assert.equal(await read(`https://web.example.com:${server.port}/`, options), "tls");
    assert.match(await refusal(read(`https://b.test:${server.port}/`, options)), /ERR_TLS_CERT_ALTNAME_INVALID/);
    assert.match(
      await refusal(read(`https://web.example.com:${server.port}/`, { resolve })),
      /KEYS_UNREACHABLE cannot be asked/,
    );
    assert.match(await refusal(read(`https://web.example.com:${server.port}/down`, options)), /from https to http/);
  });
});

describe("a key set", () => {
  const good = '{"keys":[{"kty":"RSA","e":"AQAB","n":"x"}]}';
  const cases: readonly (readonly [name: string, text: string, reason: RegExp | undefined])[] = [
    ["of public keys is taken", good, undefined],
    ["of no JSON is refused", "<html>", /no JSON/],
    ["of another form is refused", "[]", /no list of keys/],
    ["of nothing is refused", "null", /no list of keys/],
    ["without keys is refused", '{"keys":[]}', /no list of keys/],
    ["of keys without a type is refused", '{"keys":[{}]}', /keys that are none/],
    ["of texts is refused", '{"keys":["a"]}', /keys that are none/],
    ["with a private key is refused", '{"keys":[{"kty":"RSA","n":"x","d":"y"}]}', /private keys/],
    ["with a shared key is refused", '{"keys":[{"kty":"oct","k":"y"}]}', /private keys/],
  ];
  for (const [name, text, reason] of cases)
    it(name, () => {
      if (reason === undefined) assert.equal(checkedKeySet(text), text);
      else assert.throws(() => checkedKeySet(text), reason);
    });

  it("is found by the issuer's configuration", async () => {
    const documents = new Map([
      ["https://i.test/.well-known/openid-configuration", '{"jwks_uri":"https://k.test/keys"}'],
      ["https://k.test/keys", good],
      ["https://j.test/a/.well-known/openid-configuration", "{}"],
    ]);
    const from = async (uri: string) => documents.get(uri) ?? assert.fail(uri);
    assert.equal(await fetchKeys("openid:https://i.test/", from, 1, never), good);
    assert.equal(await fetchKeys("https://k.test/keys", from, 1, never), good);
    await assert.rejects(fetchKeys("openid:https://j.test/a", from, 1, never), /without jwks_uri/);
  });
});
