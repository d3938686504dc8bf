import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { generatePrivateKey, issueLeaf, issueRoot, issuerOf, spkiOf } from "@flotilla/pki";
import { type Authenticator, type Caller, refused } from "../authenticator.ts";
import { clientCertificateAuthenticator } from "../client-certificate.ts";
import { ofTrustDomains } from "../peer/peer-identity.ts";
import { certificateOf, forwardedAuthenticator } from "./xfcc-authenticator.ts";
import { formatXfcc, parseXfcc } from "./xfcc-header.ts";

const forwarder = "spiffe://td/ns/istio-system/sa/flotilla-xds-server";
const workload = "spiffe://td/ns/shop/sa/web";

/** The certificate's text is the identity. */
const hop: Authenticator = {
  name: "hop",
  authenticate: async ({ peerCertificate }) => {
    if (peerCertificate === undefined) return refused("no certificate");
    const identity = peerCertificate.toString();
    return { authenticated: true, authenticator: "hop", identities: [identity], principal: identity };
  },
};
const isForwarder = (ids: readonly string[]): boolean => ids.includes(forwarder);
/** A real certificate proves its SPIFFE identity. */
const certificates = clientCertificateAuthenticator({ nowMs: Date.now });
const authenticator = forwardedAuthenticator({ hop, isForwarder, certificates }, hop);
const key = await generatePrivateKey("ecdsa-p256");
const lifetime = { notBeforeMs: Date.now() - 1_000, notAfterMs: Date.now() + 60_000 };
const root = issueRoot({ serial: Buffer.of(1), subject: { organization: "x" }, ...lifetime }, key);
const leaf = issueLeaf(
  { serial: Buffer.of(2), spki: spkiOf(key), sans: [{ type: "uri", value: workload }], ...lifetime },
  issuerOf(root, key),
);
const named = formatXfcc(leaf, ["spiffe://td/ns/shop/sa/other"]);
const claimed = issueLeaf(
  { serial: Buffer.of(3), spki: spkiOf(key), sans: [{ type: "uri", value: forwarder }], ...lifetime },
  issuerOf(root, key),
);

const callerWith = (certificate: string | undefined, header?: string): Caller => ({
  metadata: new Map(header === undefined ? [] : [["x-forwarded-client-cert", [header]]]),
  remoteAddress: "10.0.0.1:5",
  ...(certificate !== undefined && { peerCertificate: Buffer.from(certificate) }),
});

const cases: readonly (readonly [string, Caller, string | undefined])[] = [
  ["a forwarder sends the caller's certificate, which alone counts", callerWith(forwarder, named), workload],
  [
    "a forwarder's word without the certificate is no proof",
    callerWith(forwarder, `Hash=h;URI=${workload}`),
    undefined,
  ],
  ["a forwarder's header with no certificate in its place", callerWith(forwarder, "Cert=x"), undefined],
  [
    "of several certificates the last counts, which the forwarder has seen",
    callerWith(forwarder, `${formatXfcc(claimed, [forwarder])},${named}`),
    workload,
  ],
  ["a forwarder without a name speaks for itself", callerWith(forwarder), forwarder],
  [
    "a forwarder whose header names no identity does not get its own identity",
    callerWith(forwarder, "Hash=h"),
    undefined,
  ],
  ["a forwarder's malformed header is no proof", callerWith(forwarder, "nonsense"), undefined],
  ["any other caller speaks for itself only", callerWith(workload, `URI=${forwarder}`), workload],
  ["a name without a certificate is no proof", callerWith(undefined, `URI=${workload}`), undefined],
];

describe("forwarded requests", () => {
  for (const [name, caller, expected] of cases) {
    it(name, async () => {
      const verdict = await authenticator.authenticate(caller);
      assert.equal(verdict.authenticated ? verdict.principal : undefined, expected);
    });
  }

  it("a header is read as it was written, whatever the URI holds", () => {
    const uris = [workload, 'spiffe://td/x;y,z="q"'];
    const [element] = parseXfcc(formatXfcc(leaf, uris)) ?? [];
    assert.deepEqual(element?.uris, uris);
    assert.ok(certificateOf(element)?.equals(leaf));
  });
});

describe("a caller without a certificate", () => {
  it("passes on nothing, even if it is proven to be a forwarder by something else", async () => {
    const byToken: Authenticator = {
      name: "token",
      authenticate: () => Promise.resolve({ authenticated: true, authenticator: "token", identities: [forwarder] }),
    };
    const both = forwardedAuthenticator({ hop: byToken, isForwarder, certificates }, byToken);
    const verdict = await both.authenticate(callerWith(undefined, named));
    assert.deepEqual(verdict.authenticated && verdict.identities, [forwarder]);
  });
});

describe("a header of a hop", () => {
  for (const [header, read] of [
    [
      'By=a;Hash=h;Subject="CN=x,O=y";URI=u;DNS=d',
      { by: ["a"], hash: "h", subject: "CN=x,O=y", uris: ["u"], dns: ["d"] },
    ],
    ["By=a;By=b;DNS=d;DNS=e", { by: ["a", "b"], uris: [], dns: ["d", "e"] }],
    ["Cert=a%20b;Chain=c", { by: [], uris: [], dns: [], certificate: "a b" }],
  ] as const)
    it(`is read: ${header}`, () => assert.deepEqual(parseXfcc(header), [read]));
  for (const header of ["Hash", 'Hash=a"b', 'Hash="a', "Cert=%", "Color=red"])
    it(`is refused: ${header}`, () => assert.equal(parseXfcc(header), undefined));
  it("has one element for each", () => {
    assert.deepEqual(
      parseXfcc('Hash="a,b",Hash=c')?.map(({ hash }) => hash),
      ["a,b", "c"],
    );
  });
});

describe("trust domains", () => {
  const own = ofTrustDomains(() => ["td", "old-td"], hop);
  for (const [identity, isOwn] of [
    [workload, true],
    ["spiffe://old-td/ns/shop/sa/web", true],
    ["spiffe://td.evil/ns/shop/sa/web", false],
    ["web.shop.svc", false],
  ] as const) {
    it(`${identity} is ${isOwn ? "" : "not "}of this mesh`, async () => {
      const verdict = await own.authenticate(callerWith(identity));
      assert.equal(verdict.authenticated, isOwn);
      if (!verdict.authenticated) assert.match(verdict.reason, /not of the trust domains td, old-td/);
    });
  }
});
