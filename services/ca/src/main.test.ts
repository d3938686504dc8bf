/** The service as it runs: gRPC over TLS on a free port, tokens of the local issuer and certificates as proof. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { type CaCall, requestCertificate, type TlsMaterial } from "@flotilla/auth/serving";
import {
  buildCsr,
  certificatePem,
  csrPem,
  generatePrivateKey,
  issueLeaf,
  issueRoot,
  issuerOf,
  parseCertificatePem,
  privateKeyPem,
  spkiOf,
} from "@flotilla/pki";
import { type ServiceError, status } from "@grpc/grpc-js";
import { serverName, startCa } from "./main.fixture.ts";
import { type Asked, sendRequest } from "./raw-request.fixture.ts";

const ca = await startCa();
const { rootsPem, mint, lines } = ca;
after(() => ca[Symbol.asyncDispose]());

const key = await generatePrivateKey("ecdsa-p256");
const ask = (asked: Asked): Promise<readonly string[]> => sendRequest(ca, asked);

const call = async (more: Partial<CaCall> = {}): Promise<TlsMaterial> =>
  requestCertificate({
    address: `127.0.0.1:${ca.grpc}`,
    serverName,
    rootsPem,
    proof: { token: await mint("shop", "reviews") },
    names: [],
    keyType: "ecdsa-p256",
    ttlMs: 60_000,
    ...more,
  });

describe("ca", () => {
  it("a token gets a certificate; with that, the next one is got without a token", async () => {
    const first = await call();
    const second = await call({
      proof: { current: first },
      names: ["spiffe://cluster.local/ns/a/sa/other", "evil.test"],
    });
    assert.deepEqual(parseCertificatePem(second.chainPem).sans, [
      { type: "uri", value: "spiffe://cluster.local/ns/shop/sa/reviews" },
    ]);
    assert.notEqual(parseCertificatePem(first.chainPem).serial, parseCertificatePem(second.chainPem).serial);
    assert.equal(second.rootsPem, rootsPem);
    const audit = lines.filter(({ msg }) => msg === "certificate issued");
    assert.deepEqual(
      audit.slice(-2).map(({ identity, key: kind, authenticator }) => [identity, kind, authenticator]),
      [
        ["spiffe://cluster.local/ns/shop/sa/reviews", "ecdsa-p256", "jwt"],
        ["spiffe://cluster.local/ns/shop/sa/reviews", "ecdsa-p256", "client-certificate"],
      ],
    );
    assert.equal(audit.at(-1)?.["serial"], parseCertificatePem(second.chainPem).serial.padStart(32, "0"));
  });

  it("RSA, and the chain ends in newlines, the root last", async () => {
    const chain = await ask({
      token: await mint("a", "b"),
      csr: csrPem(buildCsr({ key: await generatePrivateKey("rsa-2048") })),
    });
    assert.deepEqual(
      [chain.length, chain.every((text) => text.endsWith("-----END CERTIFICATE-----\n")), chain.at(-1)],
      [2, true, rootsPem],
    );
  });

  const unauthenticated = [status.UNAUTHENTICATED, "request authenticate failure"] as const;
  const refusals: readonly (readonly [string, () => Promise<Asked>, readonly [status, string]])[] = [
    ["nobody", async () => ({}), unauthenticated],
    ["a token that is none", async () => ({ token: "abc" }), unauthenticated],
    ["an expired token", async () => ({ token: await mint("a", "b", { ttlMs: -60_000 }) }), unauthenticated],
    ["a token for another audience", async () => ({ token: await mint("a", "b", { audience: "x" }) }), unauthenticated],
    [
      "a gateway's word without a trusted network",
      async () => ({ headers: { "x-forwarded-client-cert": "URI=spiffe://cluster.local/ns/a/sa/b" } }),
      unauthenticated,
    ],
    [
      "a bad CSR",
      async () => ({ token: await mint("a", "b"), csr: "x" }),
      [status.INVALID_ARGUMENT, "CSR parsing error"],
    ],
    [
      "too long a life",
      async () => ({ token: await mint("a", "b"), ttl: 7_776_001n }),
      [
        status.INVALID_ARGUMENT,
        "CSR signing error (requested TTL 2160h0m1s is greater than the max allowed TTL 2160h0m0s)",
      ],
    ],
    [
      "an unknown signer",
      async () => ({ token: await mint("a", "b"), metadata: { CertSigner: "x" } }),
      [status.INVALID_ARGUMENT, "CSR signing error (unknown signer)"],
    ],
    [
      "someone else's identity",
      async () => ({
        token: await mint("a", "b"),
        metadata: { ImpersonatedIdentity: "spiffe://cluster.local/ns/c/sa/d" },
      }),
      [status.UNAUTHENTICATED, "request impersonation authentication failure"],
    ],
    [
      "a name that is not the control plane's",
      async () => ({
        token: await mint("istio-system", "flotilla-webhook"),
        csr: csrPem(buildCsr({ key, sans: [{ type: "dns", value: "x.test" }] })),
      }),
      [status.PERMISSION_DENIED, 'CSR signing error (dns name "x.test" is not one of the control plane)'],
    ],
  ];
  for (const [name, make, [code, details]] of refusals) {
    it(`refuses ${name}`, async () => {
      const given = await make();
      await assert.rejects(ask(given), (error: ServiceError) => {
        assert.deepEqual([error.code, error.details], [code, details]);
        return true;
      });
    });
  }

  it("a client certificate of a stranger ends the connection, whatever the token", async () => {
    const strangerKey = await generatePrivateKey("ecdsa-p256");
    const times = { notBeforeMs: Date.now() - 1000, notAfterMs: Date.now() + 60_000 };
    const root = issueRoot({ serial: Buffer.of(1), subject: { organization: "cluster.local" }, ...times }, strangerKey);
    const sans = [{ type: "uri", value: "spiffe://cluster.local/ns/a/sa/b" }] as const;
    const leaf = issueLeaf(
      { serial: Buffer.of(2), spki: spkiOf(strangerKey), sans, ...times },
      issuerOf(root, strangerKey),
    );
    const material = { keyPem: privateKeyPem(strangerKey), chainPem: certificatePem({ der: leaf }), rootsPem };
    await assert.rejects(ask({ material, token: await mint("a", "b") }), { code: status.UNAVAILABLE });
  });

  it("counts, and no log line holds a token or a key", async () => {
    const text = await (await fetch(`http://127.0.0.1:${ca.health}/metrics`)).text();
    for (const name of [
      "success_cert_issuance_count",
      "authentication_failure_count",
      "csr_parsing_err_count",
      'csr_sign_err_count{error="ttl"}',
      "root_cert_expiry_seconds",
    ]) {
      const value = Number(
        text
          .split("\n")
          .find((line) => line.startsWith(`citadel_server_${name} `))
          ?.split(" ")[1],
      );
      assert.ok(value > 0, `${name} is ${value}`);
    }
    const all = lines.map((line) => JSON.stringify(line)).join("\n");
    assert.doesNotMatch(all, /eyJ|PRIVATE KEY|Bearer/);
    assert.equal((await fetch(`http://127.0.0.1:${ca.health}/ready`)).status, 200);
  });

  it("shows what it signs with, and no secret", async () => {
    const text = await (await fetch(`http://127.0.0.1:${ca.health}/debug/caz`)).text();
    const page = JSON.parse(text);
    assert.deepEqual(
      [page.trustDomains, page.signing.origin, page.signing.serial, page.roots.length, page.waiting],
      [["cluster.local"], "self-signed", parseCertificatePem(rootsPem).serial, 1, 0],
    );
    assert.doesNotMatch(text, /PRIVATE|BEGIN/);
  });
});
