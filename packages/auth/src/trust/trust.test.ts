/** Trust domains of callers, bundles of roots, and the revocation lists that come with them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { certificatePem, generatePrivateKey, issueRoot, rootId } from "@flotilla/pki";
import { noopLogger } from "@flotilla/runtime";
import type { Authenticator, Verdict } from "../authenticator.ts";
import { ofTrustDomains } from "../peer/peer-identity.ts";
import { RevocationLists, trustBundleOf } from "./trust-bundle.ts";
import { decodeTrustReport, encodeTrustReport } from "./trust-report.ts";

const [own, other] = ["spiffe://td/ns/a/sa/b", "spiffe://other/ns/a/sa/b"];
const proves = (identities: readonly string[], principal?: string): Authenticator => ({
  name: "test",
  authenticate: () =>
    Promise.resolve({
      ...{ authenticated: true, authenticator: "test", identities },
      ...(principal !== undefined && { principal }),
    }),
});
const caller = { metadata: new Map<string, readonly string[]>(), remoteAddress: "10.0.0.1:1" };
const judged = (inner: Authenticator, domains = ["td"]): Promise<Verdict> =>
  ofTrustDomains(() => domains, inner).authenticate(caller);

describe("identities of the mesh's trust domains", () => {
  it("count, with the principal that is among them", async () => {
    const verdict = { authenticated: true, authenticator: "test", identities: [own], principal: own };
    assert.deepEqual(await judged(proves([own], own)), verdict);
    assert.deepEqual(await judged(proves([other, own], own)), verdict);
  });
  it("count without a principal where there is none, or it is of another domain", async () => {
    const verdict = { authenticated: true, authenticator: "test", identities: [own] };
    assert.deepEqual(await judged(proves([own])), verdict);
    assert.deepEqual(await judged(proves([own, other], other)), verdict);
  });
  it("may be those of a provider's mail address", async () => {
    const verdict = await judged(proves(["spiffe://project.iam/ns/a/sa/b"]), ["project@iam"]);
    assert.equal(verdict.authenticated, true);
  });
  for (const identity of [other, "spiffe://td", "td/ns/a/sa/b", "spiffe://tdx/ns/a/sa/b"])
    it(`are not ${identity}`, async () => {
      const verdict = await judged(proves([identity], identity));
      assert.deepEqual([verdict.authenticated, !verdict.authenticated && verdict.foreign], [false, [identity]]);
    });
  it("are not looked for where nothing was proven", async () => {
    const refused = { authenticated: false, reason: "no token" } as const;
    assert.deepEqual(await judged({ name: "test", authenticate: () => Promise.resolve(refused) }), refused);
  });
});

const key = await generatePrivateKey("ecdsa-p256");
const rootNamed = (organization: string) =>
  issueRoot({ serial: Buffer.of(1), subject: { organization }, notBeforeMs: 0, notAfterMs: 1_000_000 }, key);

describe("a trust bundle", () => {
  const root = rootNamed("a");
  const pem = certificatePem(root);
  it("holds each root once, by its key", () => {
    assert.deepEqual(trustBundleOf(pem + pem), { roots: [{ id: rootId(root), pem }] });
    assert.match(rootId(root), /^[0-9a-f]{16}$/);
    assert.equal(rootId(rootNamed("b")), rootId(root));
  });
  it("holds revocation lists where there are some", () => {
    assert.equal(trustBundleOf(pem, "lists").crls, "lists");
    assert.equal("crls" in trustBundleOf(pem), false);
  });
});

/** By OpenSSL: the serials 0a and 0b of one issuer, and 0c. */
const listPems = [
  `-----BEGIN X509 CRL-----
MIHMMHUCAQEwCgYIKoZIzj0EAwIwDDEKMAgGA1UECgwBeBcNMjYxMTIyMTk1MTAx
WhcNMjYxMjIyMTk1MTAxWjAoMBICAQoXDTI2MDEwMTAwMDAwMFowEgIBCxcNMjYw
MTAxMDAwMDAwWqAOMAwwCgYDVR0UBAMCAQEwCgYIKoZIzj0EAwIDRwAwRAIgUt59
aQXhsHSLHVJb1ZY/C9DHEX8SoiI2UmfkOKdk9kYCIGLowpWtmOQ65YZmTKczBGc7
tHIHXOEIAFZEpWNIsF27
-----END X509 CRL-----
`,
  `-----BEGIN X509 CRL-----
MIG4MGECAQEwCgYIKoZIzj0EAwIwDDEKMAgGA1UECgwBeBcNMjYxMTIyMTk1MTAx
WhcNMjYxMjIyMTk1MTAxWjAUMBICAQwXDTI2MDEwMTAwMDAwMFqgDjAMMAoGA1Ud
FAQDAgEBMAoGCCqGSM49BAMCA0cAMEQCIBE/bIhwZux2T5O7n9IN5xBYVd0RGzAR
RX/D6F2Vddl6AiAffT4yq2E1DNm1wyXvM0OHPmYEPqLW+dq3pIR/YjAuPA==
-----END X509 CRL-----
`,
] as const;

describe("revocation lists", () => {
  function setUp() {
    const lines: unknown[] = [];
    const note = (event: string, fields?: object): void => void lines.push([event, fields]);
    const lists = new RevocationLists({ ...noopLogger, info: note, error: note });
    const serials = (): string => lists.crls.flatMap(({ revoked }) => [...revoked]).join();
    return { lists, lines, serials };
  }

  it("are in force by bundle, each in the place of the bundle's last one", () => {
    const { lists, lines, serials } = setUp();
    assert.equal(lists.replace("a", ""), false);
    assert.equal(lists.replace("a", listPems[0]), true);
    assert.equal(lists.replace("a", listPems[0]), false);
    assert.equal(lists.replace("b", listPems[1]), true);
    assert.equal(serials(), "0a,0b,0c");
    assert.equal(lists.replace("a", listPems[1]), true);
    assert.equal(serials(), "0c,0c");
    assert.equal(lists.replace("a", ""), true);
    assert.equal(serials(), "0c");
    const counts = lines.map((line) => (line as [string, { certificates: number }])[1].certificates);
    assert.deepEqual(counts, [2, 3, 2, 1]);
  });

  it("stay in force when others cannot be read", () => {
    const { lists, lines, serials } = setUp();
    lists.replace("a", listPems[0]);
    assert.equal(lists.replace("a", "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n"), false);
    assert.equal(serials(), "0a,0b");
    assert.match(JSON.stringify(lines.at(-1)), /refused, those before stay in force.*"bundle":"a"/);
  });
});

describe("a report of the roots that proxies trust", () => {
  const proxy = { proxy: "a.shop", identities: [own], pod: "shop/a", host: "10.0.0.1" };
  it("is read as it was written, with and without roots", () => {
    const report = [proxy, { ...proxy, roots: ["1"] }];
    assert.deepEqual(decodeTrustReport(encodeTrustReport(report)), report);
  });
  for (const other of [{}, [{}], [{ ...proxy, host: 1 }], [{ ...proxy, roots: "1" }]])
    it(`is refused: ${JSON.stringify(other)}`, () =>
      assert.throws(() => decodeTrustReport(Buffer.from(JSON.stringify(other)))));
});
