import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { appendPem, generatePrivateKey, parseCertificatePem, privateKeyPem } from "@flotilla/pki";
import { createAuthority } from "./authority.fixture.ts";
import { checkMaterial } from "./material.ts";

const [authority, other] = [await createAuthority(), await createAuthority("other")];
const good = await authority.material(["a.test"]);
const otherKey = privateKeyPem(await generatePrivateKey("ecdsa-p256"));
const late = await authority.material(["a.test"], { notBeforeMs: Date.now() + 60_000 });

describe("material of a TLS server", () => {
  it("is good until the certificate ends", () =>
    assert.deepEqual(checkMaterial(good, Date.now()), { notAfterMs: parseCertificatePem(good.chainPem).notAfterMs }));
  it("may lead to one of several roots", () => {
    const rootsPem = appendPem(other.rootPem, authority.rootPem);
    assert.ok(checkMaterial({ ...good, rootsPem }, Date.now()).notAfterMs > Date.now());
  });
  for (const [name, material, reason] of [
    ["another key", { ...good, keyPem: otherKey }, /^\[AUTH_BAD_MATERIAL\] the key does not belong/],
    ["another root", { ...good, rootsPem: other.rootPem }, /no trusted root/],
    ["no chain", { ...good, chainPem: "" }, /PEM/],
    ["a certificate that is not valid yet", late, /not valid before/],
    ["a key that is none", { ...good, keyPem: "x" }, /PEM|key/],
  ] as const)
    it(`is refused with ${name}`, () =>
      assert.throws(() => checkMaterial(material, Date.now()), { code: "AUTH_BAD_MATERIAL", message: reason }));
});
