/** The platform of analyzers: certificates are read with their times. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { certificatePem, generatePrivateKey, issueRoot } from "@flotilla/pki";
import { analysisTools } from "./analysis-tools.ts";

it("the validity of a certificate is in milliseconds", async () => {
  const times = { notBeforeMs: Date.UTC(2026, 0, 1), notAfterMs: Date.UTC(2036, 0, 1) };
  const key = await generatePrivateKey("ecdsa-p256");
  const root = issueRoot({ serial: new Uint8Array([1]), subject: { commonName: "root" }, ...times }, key);
  assert.deepEqual(analysisTools.validityOf(certificatePem(root)), times);
  assert.throws(() => analysisTools.validityOf("no certificate"));
});
