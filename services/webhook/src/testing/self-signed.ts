/** Key pairs for tests. */
import { randomBytes } from "node:crypto";
import { certificatePem, generatePrivateKey, issueRoot, privateKeyPem, sanOf } from "@flotilla/pki";
import type { KeyPair } from "../serve/https-server.ts";

export async function selfSigned(name: string): Promise<KeyPair> {
  const key = await generatePrivateKey("ecdsa-p256");
  const notBeforeMs = Date.now() - 60_000;
  const certificate = issueRoot(
    {
      serial: randomBytes(16),
      subject: { commonName: name },
      sans: [sanOf(name)],
      notBeforeMs,
      notAfterMs: notBeforeMs + 3_600_000,
    },
    key,
  );
  return { keyPem: privateKeyPem(key), chainPem: certificatePem(certificate) };
}
