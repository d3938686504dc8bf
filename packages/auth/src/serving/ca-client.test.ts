import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  certificatePem,
  isSameKey,
  parseCertificatePem,
  parseCertificatesPem,
  parseCsrPem,
  parsePrivateKey,
} from "@flotilla/pki";
import { type Answer, type Call, createAuthority, serverName, startCa } from "./authority.fixture.ts";
import { type CaCall, requestCertificate } from "./ca-client.ts";

const authority = await createAuthority();
const { rootPem: between } = await createAuthority("between");
const names = ["spiffe://td/ns/shop/sa/web", "web.shop.svc"];
const signed = ({ request }: Call): Answer => [authority.sign(request.csr), authority.rootPem];

function callTo(address: string, more: Partial<CaCall> = {}): CaCall {
  return {
    ...{ address, serverName, rootsPem: authority.rootPem, names, keyType: "ecdsa-p256", ttlMs: 90_400 },
    proof: { token: "t" },
    ...more,
  };
}

describe("a request for a certificate", () => {
  it("shows a token, names and a time to live, and brings the chain apart from the root", async () => {
    await using ca = await startCa(authority, ({ request }) => [
      authority.sign(request.csr),
      between,
      authority.rootPem,
    ]);
    const { keyPem, chainPem, rootsPem } = await requestCertificate(callTo(ca.address));
    const [{ request, caller } = assert.fail()] = ca.calls;
    assert.deepEqual(caller.metadata.get("authorization"), ["Bearer t"]);
    assert.equal(caller.peerCertificate, undefined);
    assert.match(caller.remoteAddress, /^127\.0\.0\.1:\d+$/);
    assert.deepEqual([request.validityDuration, request.metadata], [90n, undefined]);
    assert.deepEqual(
      parseCsrPem(request.csr).sans.map(({ value }) => value),
      names,
    );
    const [leaf = assert.fail(), ...others] = parseCertificatesPem(chainPem);
    assert.ok(isSameKey(parsePrivateKey(keyPem), leaf.publicKey));
    assert.deepEqual([others.map(certificatePem), rootsPem], [[between], authority.rootPem]);
  });

  it("shows the certificate in use instead, and names its instance", async () => {
    await using ca = await startCa(authority, signed);
    const current = await authority.material(names);
    await requestCertificate(callTo(ca.address, { proof: { current }, instance: "web-1" }));
    const [{ request, caller } = assert.fail()] = ca.calls;
    assert.deepEqual(caller.peerCertificate, parseCertificatePem(current.chainPem).der);
    assert.deepEqual([caller.metadata.get("authorization"), request.metadata], [undefined, { Instance: "web-1" }]);
  });

  const failures: readonly (readonly [string, Answer, string, RegExp])[] = [
    ["no chain", [], "AUTH_CA_REFUSED", /without a chain/],
    ["a root alone", [authority.rootPem], "AUTH_CA_REFUSED", /without a chain/],
    ["INVALID_ARGUMENT", 3, "AUTH_CA_REFUSED", /code 3/],
    ["PERMISSION_DENIED", 7, "AUTH_CA_REFUSED", /code 7/],
    ["UNAUTHENTICATED", 16, "AUTH_CA_REFUSED", /code 16/],
    ["RESOURCE_EXHAUSTED", 8, "AUTH_CA_AWAY", /code 8/],
    ["ABORTED", 10, "AUTH_CA_AWAY", /code 10/],
    ["INTERNAL", 13, "AUTH_CA_AWAY", /code 13/],
    ["UNAVAILABLE", 14, "AUTH_CA_AWAY", /code 14/],
    ["no answer in time", undefined, "AUTH_CA_AWAY", /DEADLINE_EXCEEDED/],
  ];
  for (const [name, answer, code, reason] of failures)
    it(`answered by ${name} fails as ${code}`, async () => {
      await using ca = await startCa(authority, () => answer);
      const deadlineMs = answer === undefined ? 100 : 5_000;
      await assert.rejects(requestCertificate(callTo(ca.address, { deadlineMs })), { code, message: reason });
    });

  it("is not sent to a server with another name, or below another root", async () => {
    await using ca = await startCa(authority, signed);
    const { rootPem: rootsPem } = await createAuthority();
    for (const more of [{ serverName: "other.test" }, { rootsPem }])
      await assert.rejects(requestCertificate(callTo(ca.address, more)), { code: "AUTH_CA_AWAY" });
    assert.deepEqual(ca.calls, []);
  });
});
