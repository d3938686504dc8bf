/** Proofs that a port accepts, by its rules: real certificates, real tokens, and the headers of forwarders. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import {
  type Certificate,
  type Crl,
  generatePrivateKey,
  issueLeaf,
  issueRoot,
  issuerOf,
  parseCertificate,
  spkiOf,
} from "@flotilla/pki";
import { noopLogger } from "@flotilla/runtime";
import type { Caller, Verdict } from "../authenticator.ts";
import { localIssuerRule, openLocalIssuer } from "../local-issuer.ts";
import { formatXfcc } from "../xfcc/xfcc-header.ts";
import { anyTrustDomain, type PeerRules, peerIdentity } from "./peer-identity.ts";

const workDir = await mkdtemp(join(tmpdir(), "peer-"));
after(() => rm(workDir, { recursive: true }));
const key = await generatePrivateKey("ecdsa-p256");
const times = { notBeforeMs: Date.now() - 60_000, notAfterMs: Date.now() + 3_600_000 };
const root = issueRoot({ serial: Buffer.of(1), subject: { organization: "x" }, ...times }, key);
let serial = 1;
const certificateOf = (namespace: string, account: string, trustDomain = "td"): Certificate => {
  const sans = [{ type: "uri", value: `spiffe://${trustDomain}/ns/${namespace}/sa/${account}` } as const];
  return parseCertificate(
    issueLeaf({ serial: Buffer.of(++serial), spki: spkiOf(key), sans, ...times }, issuerOf(root, key)),
  );
};
const [web, other, gateway] = [
  certificateOf("shop", "web"),
  certificateOf("shop", "web", "x"),
  certificateOf("a", "g"),
];
const forwarder = certificateOf("istio-system", "xds");
const garbage = Buffer.of(1, 2, 3);
const listOf = (...revoked: readonly Certificate[]): Crl => ({
  ...{ tbs: garbage, issuerDer: root.subjectDer, thisUpdateMs: 0, signatureAlgorithm: "", signature: garbage },
  revoked: new Set(revoked.map((one) => one.serial)),
});
const issuer = await openLocalIssuer(workDir);
const token = await issuer.mintToken({ namespace: "shop", serviceAccount: "web" });
const late = await openLocalIssuer(workDir, () => Date.now() - 3_605_000);
const expired = await late.mintToken({ namespace: "shop", serviceAccount: "web" });

const bare: PeerRules = { trustDomains: () => ["td"], jwtRules: [], nowMs: Date.now, log: noopLogger };
const withCertificates = { ...bare, crls: () => [] };
const forwarders = { namespace: "istio-system", accounts: ["xds"] };
const identity = (namespace: string, account: string) => `spiffe://td/ns/${namespace}/sa/${account}`;
const review: PeerRules["review"] = {
  ...{ clusterId: "c", aliases: new Map(), audiences: [], policy: "third-party" },
  reviewerOf: () => async () => ({
    authenticated: true,
    user: { username: "system:serviceaccount:k:s", groups: ["system:serviceaccounts"] },
  }),
};

function callerOf(certificate: Certificate | undefined, headers: Readonly<Record<string, string>> = {}): Caller {
  return {
    metadata: new Map(Object.entries(headers).map(([name, value]) => [name, [value]])),
    remoteAddress: "10.1.0.1:5",
    ...(certificate !== undefined && { peerCertificate: certificate.der }),
  };
}
const bearer = (text: string) => ({ authorization: `Bearer ${text}` });
const forwarded = (certificate: Certificate) => ({
  "x-forwarded-client-cert": formatXfcc(
    certificate.der,
    certificate.sans.map(({ value }) => value),
  ),
});

const cases: readonly (readonly [string, PeerRules, Caller, string | RegExp])[] = [
  ["a certificate", withCertificates, callerOf(web), identity("shop", "web")],
  ["a certificate where none count", bare, callerOf(web), /no authenticator/],
  ["no certificate", withCertificates, callerOf(undefined), /no certificate/],
  ["a certificate of another mesh", withCertificates, callerOf(other), /not of the trust domains td/],
  ["a revoked certificate", { ...bare, crls: () => [listOf(web)] }, callerOf(web), /is revoked/],
  [
    "a certificate beside a revoked one",
    { ...bare, crls: () => [listOf(gateway)] },
    callerOf(web),
    identity("shop", "web"),
  ],
  [
    "a token of the issuer",
    { ...bare, jwtRules: [localIssuerRule(workDir)] },
    callerOf(undefined, bearer(token)),
    identity("shop", "web"),
  ],
  ["a token where none count", withCertificates, callerOf(undefined, bearer(token)), /no certificate$/],
  [
    "an expired token within the tolerance",
    { ...bare, jwtRules: [localIssuerRule(workDir)] },
    callerOf(undefined, bearer(expired)),
    identity("shop", "web"),
  ],
  [
    "an expired token where clocks may not differ",
    { ...bare, clockToleranceMs: 0, jwtRules: [localIssuerRule(workDir)] },
    callerOf(undefined, bearer(expired)),
    /exp/,
  ],
  ["a token that the API server confirms", { ...bare, review }, callerOf(undefined, bearer("t")), identity("k", "s")],
  [
    "the header of a gateway in a trusted network",
    { ...bare, gatewayNetworks: ["10.1.0.0/16"] },
    callerOf(undefined, forwarded(web)),
    identity("shop", "web"),
  ],
  [
    "the header of a gateway elsewhere",
    { ...bare, gatewayNetworks: ["10.2.0.0/16"] },
    callerOf(undefined, forwarded(web)),
    /not in a trusted network/,
  ],
  [
    "such a header of this host without the setting for it",
    withCertificates,
    { ...callerOf(undefined, forwarded(web)), remoteAddress: "127.0.0.1:5" },
    /no certificate$/,
  ],
  [
    "such a header with a revoked certificate",
    { ...bare, crls: () => [listOf(web)], gatewayNetworks: ["10.1.0.0/16"] },
    callerOf(undefined, forwarded(web)),
    /is revoked/,
  ],
  [
    "the header of a forwarder",
    { ...withCertificates, forwarders },
    callerOf(forwarder, forwarded(web)),
    identity("shop", "web"),
  ],
  [
    "the header of a forwarder, of another mesh",
    { ...withCertificates, forwarders },
    callerOf(forwarder, forwarded(other)),
    /not of the trust domains/,
  ],
  [
    "the header of a forwarder where there are none",
    withCertificates,
    callerOf(forwarder, forwarded(web)),
    identity("istio-system", "xds"),
  ],
  [
    "the header of another account",
    { ...withCertificates, forwarders },
    callerOf(gateway, forwarded(web)),
    identity("a", "g"),
  ],
  [
    "the header of another account of that namespace",
    { ...withCertificates, forwarders: { ...forwarders, accounts: ["y"] } },
    callerOf(forwarder, forwarded(web)),
    identity("istio-system", "xds"),
  ],
  [
    "the header of such an account in another namespace",
    { ...withCertificates, forwarders: { namespace: "b", accounts: ["g"] } },
    callerOf(gateway, forwarded(web)),
    identity("a", "g"),
  ],
  [
    "the header of a revoked forwarder",
    { ...bare, crls: () => [listOf(forwarder)], forwarders },
    callerOf(forwarder, forwarded(web)),
    /is revoked/,
  ],
  [
    "the header of a forwarder with a revoked certificate",
    { ...bare, crls: () => [listOf(web)], forwarders },
    callerOf(forwarder, forwarded(web)),
    /^forwarded: .*is revoked/,
  ],
  [
    "the header of a forwarder without a certificate",
    { ...withCertificates, forwarders },
    callerOf(forwarder, { "x-forwarded-client-cert": "Hash=h" }),
    /^forwarded: the header holds no certificate/,
  ],
];

function shown(verdict: Verdict): string {
  return verdict.authenticated ? verdict.identities.join() : verdict.reason;
}

describe("callers", () => {
  for (const [name, rules, caller, expected] of cases)
    it(`${expected instanceof RegExp ? "is not proven" : "is proven"} by ${name}`, async () => {
      const verdict = await peerIdentity(rules).authenticator.authenticate(caller);
      assert.equal(verdict.authenticated, typeof expected === "string", shown(verdict));
      if (typeof expected === "string") assert.equal(shown(verdict), expected);
      else assert.match(shown(verdict), expected);
    });

  it("a token proves an account of the mesh's first trust domain", async () => {
    const rules: PeerRules = { ...bare, trustDomains: () => ["new", "td"], jwtRules: [localIssuerRule(workDir)] };
    const verdict = await peerIdentity(rules).authenticator.authenticate(callerOf(undefined, bearer(token)));
    assert.equal(shown(verdict), "spiffe://new/ns/shop/sa/web");
    assert.deepEqual(anyTrustDomain(), ["cluster.local"]);
  });

  it("by the certificate alone, no token counts", async () => {
    const { certificates } = peerIdentity({ ...withCertificates, jwtRules: [localIssuerRule(workDir)] });
    const verdicts = [callerOf(web, bearer("x")), callerOf(other), callerOf(undefined, bearer(token))].map((caller) =>
      certificates.authenticate(caller),
    );
    assert.deepEqual(
      (await Promise.all(verdicts)).map(({ authenticated }) => authenticated),
      [true, false, false],
    );
  });
});

describe("a certificate that was accepted before", () => {
  for (const [name, crls, der, expected] of [
    ["is revoked when its serial is on the list", [listOf(web)], web.der, true],
    ["is not when another's is", [listOf(gateway)], web.der, false],
    ["is not where there is no list", [], web.der, false],
    ["that cannot be read is on none", [listOf(web)], garbage, false],
  ] as const)
    it(name, () => assert.equal(peerIdentity({ ...bare, crls: () => crls }).isRevoked(der), expected));
});
