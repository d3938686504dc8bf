import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Authenticator, type Caller, refused } from "../authenticator.ts";
import { ofTrustDomains } from "../trust-domains.ts";
import { forwardedAuthenticator } from "./forwarded-authenticator.ts";
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
const authenticator = forwardedAuthenticator({ hop, isForwarder: (ids) => ids.includes(forwarder) }, hop);

const callerWith = (certificate: string | undefined, header?: string): Caller => ({
  metadata: new Map(header === undefined ? [] : [["x-forwarded-client-cert", [header]]]),
  remoteAddress: "10.0.0.1:5",
  ...(certificate !== undefined && { peerCertificate: Buffer.from(certificate) }),
});

const cases: readonly (readonly [string, Caller, string | undefined])[] = [
  ["a forwarder names the caller", callerWith(forwarder, `Hash=h;URI=${workload}`), workload],
  ["a forwarder without a name speaks for itself", callerWith(forwarder), forwarder],
  ["a forwarder whose header names nobody does not get its own identity", callerWith(forwarder, "Hash=h"), undefined],
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
    assert.deepEqual(parseXfcc(formatXfcc({ hash: "ab", uris }))?.[0], { by: [], dns: [], hash: "ab", uris });
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
