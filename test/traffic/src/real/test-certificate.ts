/** A certificate for back ends that speak TLS themselves; its issuer is not checked. */
import { randomBytes } from "node:crypto";
import { certificatePem, generatePrivateKey, issueRoot, privateKeyPem } from "@flotilla/pki";

const hourMs = 3_600_000;

export async function testCertificate(): Promise<{ readonly key: string; readonly cert: string }> {
  const key = await generatePrivateKey("ecdsa-p256");
  const now = Date.now();
  const certificate = issueRoot(
    {
      serial: randomBytes(16),
      subject: { commonName: "back end" },
      // Envoy's TLS library does not talk to holders of a key that is for other things than that.
      keyUsages: ["digitalSignature"],
      notBeforeMs: now - hourMs,
      notAfterMs: now + hourMs,
    },
    key,
  );
  return { key: privateKeyPem(key), cert: certificatePem(certificate) };
}
