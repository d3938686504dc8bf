/** The request of a query: parameters have usual values, and wrong ones are refused. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { askedRequest } from "./asked-request.ts";

const asked = (query: Readonly<Record<string, string>>) =>
  askedRequest(new URLSearchParams({ from: "web.shop", host: "api", ...query }));

describe("a request that is asked for", () => {
  it("is a GET of / over HTTP where nothing else is given", () => {
    assert.deepEqual(asked({}), {
      ...{ from: "web.shop", host: "api", address: undefined },
      call: {
        ...{ Protocol: "http", TLS: "plaintext", Port: 80, HostHeader: "api", Headers: {} },
        ...{ Sni: "", Method: "GET", Path: "/" },
      },
    });
  });

  it("has headers in lower case, of which host replaces the host", () => {
    const { call } = asked({ headers: "X-A: 1\n\nHost: other:8080\nx-b:a: b", method: "post" });
    assert.deepEqual(
      [call.HostHeader, call.Headers, call.Method],
      ["other:8080", { "x-a": "1", "x-b": "a: b" }, "POST"],
    );
  });

  const protocols: readonly (readonly [string, object])[] = [
    ["http2", { Protocol: "http2", TLS: "plaintext", Port: 80, Sni: "" }],
    ["https", { Protocol: "http", TLS: "tls", Port: 443, Sni: "api" }],
    ["tcp", { Protocol: "tcp", TLS: "plaintext", Port: 80, Sni: "" }],
    ["tls", { Protocol: "tcp", TLS: "tls", Port: 443, Sni: "api" }],
  ];
  for (const [protocol, want] of protocols)
    it(`speaks ${protocol}`, () => {
      const { Protocol, TLS, Port, Sni } = asked({ protocol }).call;
      assert.deepEqual({ Protocol, TLS, Port, Sni }, want);
    });

  it("may have the claims of a token, and an address", () => {
    const { call, address } = asked({ claims: '{"iss":"me","aud":["a"]}', address: "10.0.0.1", port: "8080" });
    assert.deepEqual([call.Claims, address, call.Port], [{ iss: "me", aud: ["a"] }, "10.0.0.1", 8080]);
  });

  const refusals: readonly (readonly [query: Readonly<Record<string, string>>, message: RegExp])[] = [
    [{ from: "" }, /^from is missing$/],
    [{ host: "" }, /^host is missing$/],
    [{ colour: "red" }, /^there is no parameter colour$/],
    [{ protocol: "udp" }, /^protocol is one of http, http2, https, tcp, tls$/],
    [{ port: "0" }, /^port is a number from 1 to 65535$/],
    [{ port: "65536" }, /^port is a number/],
    [{ port: "8o" }, /^port is a number/],
    [{ path: "a" }, /^path begins with \/$/],
    [{ address: "api" }, /^address is an IP address$/],
    [{ headers: "nothing" }, /is no header: write NAME: VALUE$/],
    [{ headers: ": x" }, /is no header/],
    [{ headers: "Authorization: Bearer a.b.c" }, /^authorization is not taken: give the claims of the token instead$/],
    [{ headers: "proxy-authorization: x" }, /^proxy-authorization is not taken/],
    [{ headers: Array.from({ length: 101 }, (_, i) => `x-${i}: 1`).join("\n") }, /^at most 100 headers are evaluated$/],
    [{ claims: "[1]" }, /^claims are a JSON object/],
    [{ claims: "{" }, /^claims are a JSON object/],
  ];
  for (const [query, message] of refusals)
    it(`is refused: ${message.source}: ${JSON.stringify(query).slice(0, 60)}`, () =>
      assert.throws(() => asked(query), { code: "bad-request", message }));
});
