/** Key pairs for tests. */
import { randomBytes } from "node:crypto";
import {
  certificatePem,
  generatePrivateKey,
  issueLeaf,
  issueRoot,
  issuerOf,
  parseCertificate,
  privateKeyPem,
  sanOf,
  spkiOf,
} from "@flotilla/pki";
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

/** With a root of its own: programs in Go take no certificate for its own issuer. */
export async function signedByRoot(name: string): Promise<KeyPair & { readonly rootPem: string }> {
  const [rootKey, key] = [await generatePrivateKey("ecdsa-p256"), await generatePrivateKey("ecdsa-p256")];
  const notBeforeMs = Date.now() - 60_000;
  const times = { notBeforeMs, notAfterMs: notBeforeMs + 3_600_000 };
  const root = issueRoot({ serial: randomBytes(16), subject: { commonName: "root" }, ...times }, rootKey);
  const leaf = issueLeaf(
    { serial: randomBytes(16), sans: [sanOf(name)], spki: spkiOf(key), ...times },
    issuerOf(root, rootKey),
  );
  return {
    keyPem: privateKeyPem(key),
    chainPem: certificatePem(parseCertificate(leaf)),
    rootPem: certificatePem(root),
  };
}
