/** Roots besides our own: read from bundles, fetched from endpoints that fail and come back. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import { certificatePem, generatePrivateKey, issueRoot } from "@flotilla/pki";
import { noopLogger, until } from "@flotilla/runtime";
import { CaError } from "../errors.ts";
import { readSettings } from "../settings.ts";
import { Anchors } from "./anchors.ts";
import { fetchText, followBundleEndpoint, parseSpiffeBundle } from "./bundle-endpoint.ts";

const times = { notBeforeMs: Date.now() - 1000, notAfterMs: Date.now() + 3_600_000 };
const [first, second] = await Promise.all(
  ["one", "two"].map(async (organization, at) => {
    const root = issueRoot(
      { serial: Buffer.alloc(16, at + 1), subject: { organization }, ...times },
      await generatePrivateKey("ecdsa-p256"),
    );
    return { pem: certificatePem(root), x5c: [root.der.toString("base64")] };
  }),
);
assert.ok(first !== undefined && second !== undefined);
const bundle = (...roots: readonly { readonly x5c: readonly string[] }[]): string =>
  JSON.stringify({
    spiffe_sequence: 1,
    spiffe_refresh_hint: 1,
    keys: [{ use: "jwt-svid", kid: "a" }, ...roots.map(({ x5c }) => ({ use: "x509-svid", kty: "EC", x5c }))],
  });

describe("a SPIFFE bundle", () => {
  it("has the roots of its keys for certificates, and says how often to ask", () => {
    const { roots, refreshMs } = parseSpiffeBundle(bundle(first, second));
    assert.deepEqual([roots.map(certificatePem), refreshMs], [[first.pem, second.pem], 1000]);
  });
  const refused: readonly (readonly [string, string, RegExp])[] = [
    ["no JSON", "<html>", /not JSON/],
    ["a list", "[]", /no keys/],
    ["nothing", "null", /not an object/],
    ["no keys", "{}", /no keys/],
    ["only keys of tokens", bundle(), /no key of use x509-svid/],
    ["a key without a certificate", '{"keys":[{"use":"x509-svid"}]}', /key 0 has not exactly one/],
    ["a key with two", bundle({ x5c: [...first.x5c, ...second.x5c] }), /key 0 has not exactly one/],
    ["a certificate that is none", bundle({ x5c: ["AAAA"] }), /PKI_BAD/],
  ];
  for (const [name, text, reason] of refused)
    it(`refuses ${name}`, () => assert.throws(() => parseSpiffeBundle(text), reason));
});

describe("the answer of an endpoint", () => {
  const maxBytes = 1_048_576;
  const cases = [
    { name: "of the largest size is read", status: 200, length: maxBytes, reason: undefined },
    { name: "that is larger is refused", status: 200, length: maxBytes + 1, reason: /larger than 1048576 bytes/ },
    { name: "without success is refused", status: 404, length: 1, reason: /status 404/ },
  ];
  for (const { name, status, length, reason } of cases)
    it(name, async () => {
      const server = createServer((_, response) => response.writeHead(status).end("x".repeat(length)));
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const answer = fetchText(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
      try {
        if (reason === undefined) assert.equal((await answer).length, length);
        else await assert.rejects(answer, reason);
      } finally {
        server.closeAllConnections();
        server.close();
      }
    });
});

describe("an endpoint that cannot be asked", () => {
  const cases: readonly (readonly [name: string, error: Error, reason: string])[] = [
    [
      "by its cause",
      new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED") }),
      "connect ECONNREFUSED",
    ],
    ["by itself without a cause", new TypeError("invalid URL"), "invalid URL"],
    ["by itself where it took too long", new DOMException("timed out", "TimeoutError"), "timed out"],
    [
      "by itself where it is ours",
      new CaError("CA_BAD_BUNDLE", "no keys", { cause: new Error("x") }),
      "[CA_BAD_BUNDLE] no keys",
    ],
  ];
  for (const [name, error, expected] of cases)
    it(`is reported ${name}`, async () => {
      const stop = new AbortController();
      const { promise, resolve } = Promise.withResolvers<string | undefined>();
      const options = { url: "https://a.test", refreshMs: 60_000, log: noopLogger, onRoots: () => undefined };
      const fetching = { fetchText: () => Promise.reject(error), onProblem: resolve };
      const following = followBundleEndpoint({ ...options, ...fetching }, stop.signal);
      assert.equal(await promise, `https://a.test: ${expected}`);
      stop.abort();
      await following;
    });
});

describe("additional roots", () => {
  it("come from PEM and endpoints; what an endpoint said last holds while it fails", async () => {
    const answers = { status: 500, text: "" };
    let asked = 0;
    const server = createServer((_, response) => {
      asked++;
      response.writeHead(answers.status).end(answers.text);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/bundle`;
    let problem: string | undefined;
    const onProblem = (reason: string | undefined): void => {
      problem = reason;
    };
    const anchors = new Anchors({ urls: [], refreshMs: 1000, fetchText, log: noopLogger, onProblem });
    try {
      anchors.setWanted({ pems: [first.pem, "nonsense"], urls: [url] });
      assert.equal(anchors.pem, first.pem);
      await until(() => /caCertificates\[1\].*status 500/s.test(problem ?? ""), {
        withinMs: 30_000,
        what: "both problems",
      });
      Object.assign(answers, { status: 200, text: bundle(second) });
      await until(() => anchors.pem === first.pem + second.pem, { withinMs: 30_000, what: "the fetched root" });
      anchors.setWanted({ pems: [], urls: [url] });
      assert.equal(problem, undefined);
      answers.text = "{}";
      await until(() => /no keys/.test(problem ?? ""), { withinMs: 30_000, what: "the bad bundle" });
      assert.equal(anchors.pem, second.pem);
      const before = asked;
      anchors.setWanted({ pems: [], urls: [] });
      assert.equal(anchors.pem, "");
      await new Promise((resolve) => setTimeout(resolve, 1500));
      assert.ok(asked <= before + 1, "who is not wanted is not asked");
    } finally {
      await anchors.stop();
      server.close();
    }
  });

  it("the key of a self-signed root has the size that istiod's setting names, unless it is of another kind", () => {
    const size = { CITADEL_SELF_SIGNED_CA_RSA_KEY_SIZE: "3072" };
    const keyOf = (env: Readonly<Record<string, string>>) => readSettings(env).selfSignedKey;
    assert.equal(keyOf({}), "rsa-2048");
    assert.equal(keyOf(size), "rsa-3072");
    assert.equal(keyOf({ ...size, CA_SELF_SIGNED_KEY: "ecdsa-p256" }), "ecdsa-p256");
    assert.throws(() => keyOf({ CITADEL_SELF_SIGNED_CA_RSA_KEY_SIZE: "1024" }), /2048/);
  });

  it("endpoints in the settings are written as istiod has them", () => {
    const urlsOf = (text: string) => readSettings({ SPIFFE_BUNDLE_ENDPOINTS: text }).bundleUrls;
    assert.deepEqual(urlsOf("a|https://a.test/b||b|https://b.test"), ["https://a.test/b", "https://b.test"]);
    assert.deepEqual(urlsOf(""), []);
    for (const text of ["a", "a|ftp://b", "|https://a", "a|https://a|b"])
      assert.throws(() => urlsOf(text), { code: "CA_BAD_BUNDLE" });
  });
});
