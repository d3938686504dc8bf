import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { generatePrivateKey, issueRoot } from "@flotilla/pki";
import type { Authenticator } from "../authenticator.ts";
import { trustedNetworks, xfccAuthenticator } from "./xfcc-authenticator.ts";
import { formatXfcc } from "./xfcc-header.ts";

const uri = "spiffe://td/ns/a/sa/b";
const cases: readonly (readonly [string, string, readonly string[] | RegExp, string?])[] = [
  ["one hop", `Hash=h;Subject="";URI=${uri}`, [uri], uri],
  [
    "two hops: the last one is who calls",
    `Hash=h;URI=${uri},By=x;URI=spiffe://td/ns/c/sa/d`,
    [uri, "spiffe://td/ns/c/sa/d"],
    "spiffe://td/ns/c/sa/d",
  ],
  ["names and a subject", `Hash=h;Subject="O=x,CN=hop1";URI=;DNS=a.test;DNS=b.test`, ["", "a.test", "b.test", "hop1"]],
  ["quotes hide separators", `Hash=h;Subject="CN=a,O=\\"x;y\\"";URI=${uri}`, [uri, "a"], uri],
  ["the first hop cannot name the last", `URI=${uri},Hash=h`, [uri]],
  ["keys in any case", `hash=h;uri=${uri}`, [uri], uri],
  ["nobody", "Hash=h", /no identity/],
  ["no pair", "abc", /malformed/],
  ["an unknown key", `Hash=h;Foo=x;URI=${uri}`, /malformed/],
  ["an open quote", `Subject="CN=a;URI=${uri}`, /malformed/],
  ["a quote in the middle", `URI=${uri}";x"`, /malformed/],
];

describe("xfcc", () => {
  const ask = (header: string, remoteAddress: string) =>
    xfccAuthenticator({ trustedNetworks: ["10.1.0.0/16"] }).authenticate({
      metadata: new Map([["x-forwarded-client-cert", [header]]]),
      remoteAddress,
    });

  for (const [name, header, expected, principal] of cases) {
    it(name, async () => {
      const verdict = await ask(header, "10.1.2.3:55");
      if (expected instanceof RegExp)
        assert.ok(!verdict.authenticated && expected.test(verdict.reason), JSON.stringify(verdict));
      else assert.deepEqual(verdict.authenticated && [verdict.identities, verdict.principal], [expected, principal]);
    });
  }

  it("is needed", async () => {
    const authenticator = xfccAuthenticator({ trustedNetworks: [] });
    const verdict = await authenticator.authenticate({ metadata: new Map(), remoteAddress: "127.0.0.1:5" });
    assert.deepEqual(verdict, { authenticated: false, reason: "no header" });
  });

  it("counts as it is where the certificate in it is good, missing, or not checked", async () => {
    const key = await generatePrivateKey("ecdsa-p256");
    const der = issueRoot({ serial: Buffer.of(1), subject: {}, notBeforeMs: 0, notAfterMs: 1 }, key).der;
    const headers = [formatXfcc(der, [uri]), `Hash=h;URI=${uri}`, `Cert="no PEM";URI=${uri}`];
    const judged: (Buffer | undefined)[] = [];
    const certificates: Authenticator = {
      name: "judge",
      authenticate: async ({ peerCertificate }) => {
        judged.push(peerCertificate);
        return { authenticated: true, authenticator: "judge", identities: ["the certificate's"] };
      },
    };
    for (const options of [{}, { certificates }])
      for (const header of headers) {
        const caller = { metadata: new Map([["x-forwarded-client-cert", [header]]]), remoteAddress: "127.0.0.1:5" };
        const verdict = await xfccAuthenticator({ trustedNetworks: [], ...options }).authenticate(caller);
        assert.deepEqual(verdict, { authenticated: true, authenticator: "xfcc", identities: [uri], principal: uri });
      }
    assert.deepEqual(judged, [der]);
  });

  it("is not believed from elsewhere", async () => {
    const verdict = await ask(`URI=${uri}`, "10.2.2.3:55");
    assert.ok(!verdict.authenticated && /not in a trusted network/.test(verdict.reason));
  });
});

describe("trusted networks", () => {
  const networks = ["172.17.0.0/16", "2001:db8:1234:1a00::/56", ""];
  const peers: readonly (readonly [string, boolean])[] = [
    ["127.0.0.1:9901", true],
    ["127.0.0.1", false],
    ["[::1]:80", true],
    ["[::ffff:127.0.0.1]:80", true],
    ["172.17.255.1:1", true],
    ["[::ffff:172.17.0.1]:1", true],
    ["172.18.0.1:1", false],
    ["[2001:db8:1234:1aff::1]:80", true],
    ["[2001:db8:1234:1b00::1]:80", false],
    ["2001:db8:1234:1a00::1", false],
    ["localhost:80", false],
    ["", false],
    ["unknown", false],
  ];
  for (const [peer, expected] of peers) {
    it(`${peer} is ${expected ? "" : "not "}trusted`, () => assert.equal(trustedNetworks(networks)(peer), expected));
  }
  for (const bad of ["10.0.0.0", "10.0.0.0/33", "x/8", "::/129"]) {
    it(`refuses the network ${bad}`, () => assert.throws(() => trustedNetworks([bad]), { code: "AUTH_BAD_NETWORK" }));
  }
});
