/** Certificates that a signer of Kubernetes signs: what is asked of it, and what of its answers is handed out. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  buildCsr,
  certificatePem,
  csrPem,
  generatePrivateKey,
  issueLeaf,
  issueRoot,
  issuerOf,
  parseCsrPem,
  type San,
  sanOf,
  spkiOf,
} from "@flotilla/pki";
import { type DelegateOptions, issueByDelegate, signerOf } from "./registration-authority.ts";

const nowMs = 1_700_000_000_000;
const hourMs = 3_600_000;
const identity = "spiffe://cluster.local/ns/shop/sa/reviews";
const own: San = { type: "uri", value: identity };
const [key, otherKey, rootKey] = [
  await generatePrivateKey("ecdsa-p256"),
  await generatePrivateKey("ecdsa-p256"),
  await generatePrivateKey("ecdsa-p256"),
];
const times = { notBeforeMs: nowMs - hourMs, notAfterMs: nowMs + hourMs };
const rootOf = (caKey: typeof rootKey) =>
  issueRoot({ serial: Buffer.alloc(16, 1), subject: { commonName: "signer" }, ...times }, caKey);
const root = rootOf(rootKey);
const rootsPem = certificatePem(root);

interface Answer {
  readonly sans?: readonly San[];
  readonly by?: typeof rootKey;
  readonly of?: typeof rootKey;
  readonly notAfterMs?: number;
}

function signed({ sans = [own], by = rootKey, of = key, notAfterMs = times.notAfterMs }: Answer = {}): string {
  const leaf = { serial: Buffer.alloc(16, 7), spki: spkiOf(of), sans, ...times, notAfterMs };
  return certificatePem({ der: issueLeaf(leaf, issuerOf(rootOf(by), by)) });
}

function issue(csr: string, answer: string | (() => string) = signed(), more: Partial<DelegateOptions> = {}) {
  const calls: unknown[] = [];
  const options: DelegateOptions = {
    ...{ defaultSigner: undefined, signerDomain: "example.com", nowMs: () => nowMs },
    rootsOf: (signer) => (signer === "example.com/mesh" ? rootsPem : undefined),
    request: async (call) => {
      calls.push(call);
      return typeof answer === "string" ? answer : answer();
    },
    ...more,
  };
  const namesFor = () => [sanOf("reviews.shop.svc")];
  const names = more.defaultSigner === "with names" ? { namesFor } : { namesFor: () => [] };
  const issued = issueByDelegate({ csrPem: csr, identity, ttlMs: hourMs, ...names }, "example.com/mesh", options);
  return { calls, issued };
}

const request = (more: object = {}) => csrPem(buildCsr({ key, sans: [own], ...more }));

describe("the signer of a request", () => {
  const none = { defaultSigner: undefined, signerDomain: undefined } as DelegateOptions;
  const some = { defaultSigner: "example.com/usual", signerDomain: "example.com" } as DelegateOptions;
  const cases: readonly (readonly [given: unknown, options: DelegateOptions, expected: string | undefined])[] = [
    [undefined, none, undefined],
    ["", none, undefined],
    [undefined, some, "example.com/usual"],
    ["", some, "example.com/usual"],
    ["mesh", some, "example.com/mesh"],
    ["Mesh-1.b", some, "example.com/Mesh-1.b"],
    ["m", some, "example.com/m"],
  ];
  for (const [given, options, expected] of cases)
    it(`is ${expected} for ${JSON.stringify(given)}${options === none ? " without settings" : ""}`, () => {
      assert.equal(signerOf(given, options), expected);
    });

  const refused: readonly (readonly [given: unknown, options: DelegateOptions, reason: RegExp])[] = [
    [7, some, /not a text/],
    ["mesh", none, /"mesh": CERT_SIGNER_DOMAIN is not set/],
    ["a/b", some, /"a\/b"$/],
    ["-mesh", some, /"-mesh"$/],
    ["mesh.", some, /"mesh\."$/],
    ["me sh", some, /"me sh"$/],
  ];
  for (const [given, options, message] of refused)
    it(`is refused when it is ${JSON.stringify(given)}`, () => {
      assert.throws(() => signerOf(given, options), { code: "CA_UNKNOWN_SIGNER", message });
    });
});

describe("a certificate of a signer", () => {
  it("is handed out with the signer's roots", async () => {
    const csr = request();
    const answer = signed();
    const { calls, issued } = issue(csr, answer);
    const { chain, sans, notAfterMs, serial, csr: read } = await issued;
    assert.deepEqual(calls, [{ signer: "example.com/mesh", csrPem: csr, ttlMs: hourMs }]);
    assert.deepEqual([chain, sans], [[answer, rootsPem], [own]]);
    assert.deepEqual([notAfterMs, serial], [times.notAfterMs, "07".repeat(16)]);
    assert.ok(read.spki.equals(parseCsrPem(csr).spki));
  });

  it("may have names of the caller besides its identity, in any order", async () => {
    const more = sanOf("reviews.shop.svc");
    const { issued } = issue(request({ sans: [more, own] }), signed({ sans: [own, more] }), {
      defaultSigner: "with names",
    });
    assert.deepEqual((await issued).sans, [own, more]);
  });

  it("may have a name of the caller as its subject", async () => {
    assert.ok(await issue(request({ subject: { commonName: identity } })).issued);
  });

  const refusedRequests: readonly (readonly [name: string, csr: string, code: string, reason: RegExp])[] = [
    ["without the caller's identity", request({ sans: [] }), "CA_NAME_REFUSED", /names in the request/],
    [
      "with another name besides",
      request({ sans: [own, sanOf("admin.test")] }),
      "CA_NAME_REFUSED",
      /names in the request/,
    ],
    ["with another subject", request({ subject: { commonName: "admin" } }), "CA_NAME_REFUSED", /the subject/],
    ["that is none", "hello", "CA_BAD_CSR", /./],
  ];
  for (const [name, csr, code, message] of refusedRequests)
    it(`is not asked for by a request ${name}`, async () => {
      const { calls, issued } = issue(csr);
      await assert.rejects(issued, { code, message });
      assert.deepEqual(calls, []);
    });

  it("is not asked for where no roots are known", async () => {
    const { calls, issued } = issue(request(), signed(), { rootsOf: () => undefined });
    await assert.rejects(issued, { code: "CA_UNKNOWN_SIGNER", message: /no roots are known for signer example/ });
    assert.deepEqual(calls, []);
  });

  const refusedAnswers: readonly (readonly [name: string, answer: string, reason: RegExp])[] = [
    ["nothing", "", /./],
    ["no PEM", "hello", /./],
    ["one for another key", signed({ of: otherKey }), /is for another key$/],
    ["one with other names", signed({ sans: [own, sanOf("admin.test")] }), /is for other names$/],
    ["one that has ended", signed({ notAfterMs: nowMs - 1 }), /its certificate cannot be used/],
    ["one of another root", signed({ by: otherKey }), /its certificate cannot be used/],
    ["the certificate of a CA", certificatePem(rootOf(key)), /is for other names$|is one of a CA$/],
  ];
  for (const [name, answer, message] of refusedAnswers)
    it(`is refused when the signer sends ${name}`, async () => {
      await assert.rejects(issue(request(), answer).issued, { code: "CA_SIGNER_FAILED", message });
    });

  it("fails as the signer fails", async () => {
    const fail = () => {
      throw new TypeError("connection reset");
    };
    await assert.rejects(issue(request(), fail).issued, /connection reset/);
  });
});
