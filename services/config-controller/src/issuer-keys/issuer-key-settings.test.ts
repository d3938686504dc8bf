/** Settings of the keys of issuers: ranges of addresses, and the fetcher that follows them. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import { parseSettings } from "@flotilla/runtime";
import { issuerKeySettings, keyFetcher } from "./issuer-key-settings.ts";

const read = (env: Readonly<Record<string, string>>) => parseSettings(issuerKeySettings, env);
const keys = '{"keys":[{"kty":"RSA","e":"AQAB","n":"x"}]}';

describe("keys of issuers", () => {
  it("are fetched from ranges that are allowed and not blocked", async () => {
    const server = createServer((_, response) => response.end(keys)).listen(0, "127.0.0.1");
    await once(server, "listening");
    const source = `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`;
    const fetch = (env: Readonly<Record<string, string>>) =>
      keyFetcher(read(env))(source, 5_000, new AbortController().signal);
    try {
      const allowed = { ALLOWED_CIDRS_IN_JWKS_URIS: "10.0.0.0/8,127.0.0.0/8" };
      assert.equal(await fetch(allowed), keys);
      await assert.rejects(fetch({}), /not allowed/);
      await assert.rejects(fetch({ ...allowed, BLOCKED_CIDRS_IN_JWKS_URIS: "127.0.0.1/32" }), /not allowed/);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });

  it("are fetched by the proxy that the usual variables name", async () => {
    const proxy = createServer(({ url }, response) => response.end(`{"keys":[{"kty":"${url}"}]}`)).listen(
      0,
      "127.0.0.1",
    );
    await once(proxy, "listening");
    const env = { HTTP_PROXY: `127.0.0.1:${(proxy.address() as AddressInfo).port}`, NO_PROXY: "b.invalid, c.invalid" };
    const fetch = (source: string) => keyFetcher(read(env))(source, 5_000, new AbortController().signal);
    try {
      assert.match(await fetch("http://a.invalid/keys"), /"http:\/\/a.invalid\/keys"/);
      await assert.rejects(fetch("http://c.invalid/keys"), /KEYS_UNREACHABLE/);
    } finally {
      proxy.closeAllConnections();
      proxy.close();
    }
    assert.throws(() => read({ HTTPS_PROXY: "socks5://p.example" }), /HTTPS_PROXY/);
  });

  it("need the file of their roots", () =>
    assert.throws(() => keyFetcher(read({ JWKS_CA_FILE: "/no/such/file" })), { code: "ENOENT" }));

  it("are fetched anew every 20 minutes by the control plane, unless that is set otherwise", () => {
    const { jwksRefreshMs, remoteJwks, allowedJwksRanges } = read({});
    assert.deepEqual([jwksRefreshMs, remoteJwks, allowedJwksRanges], [1_200_000, "false", []]);
    assert.throws(() => read({ ALLOWED_CIDRS_IN_JWKS_URIS: "10.0.0.0/8,ten" }), /ten is no range of addresses/);
    assert.throws(() => read({ PILOT_JWT_ENABLE_REMOTE_JWKS: "maybe" }), /PILOT_JWT_ENABLE_REMOTE_JWKS/);
  });
});
