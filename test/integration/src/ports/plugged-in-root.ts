/** For tests: plugged-in signing material in a directory, and revocation lists beside it. */
import { type KeyObject, sign } from "node:crypto";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type Certificate,
  certificatePem,
  encodePem,
  generatePrivateKey,
  issueRoot,
  parseCertificatePem,
  privateKeyPem,
} from "@flotilla/pki";
import { bitString, integer, oid, sequence, smallInteger, time } from "@flotilla/pki/der";

const hourMs = 3_600_000;

export interface PluggedInRoot {
  readonly rootsPem: string;
  /** Takes certificates back: those whose PEM these are, and no others. */
  revoke(...certificates: readonly string[]): void;
}

export async function plugInRoot(directory: string): Promise<PluggedInRoot> {
  const key = await generatePrivateKey("ecdsa-p256");
  const times = { notBeforeMs: Date.now() - hourMs, notAfterMs: Date.now() + 1_000 * hourMs };
  const root = issueRoot({ serial: Buffer.of(7), subject: { organization: "plugged-in" }, ...times }, key);
  const rootsPem = certificatePem(root);
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, "ca-cert.pem"), rootsPem);
  writeFileSync(join(directory, "root-cert.pem"), rootsPem);
  writeFileSync(join(directory, "cert-chain.pem"), "");
  writeFileSync(join(directory, "ca-key.pem"), privateKeyPem(key));
  return {
    rootsPem,
    revoke: (...certificates) => {
      const serials = certificates.map((pem) => parseCertificatePem(pem).serial);
      writeFileSync(join(directory, "new-crl"), crlPem(root, key, serials));
      renameSync(join(directory, "new-crl"), join(directory, "ca-crl.pem"));
    },
  };
}

function crlPem(issuer: Certificate, key: KeyObject, serials: readonly string[]): string {
  const algorithm = sequence(oid("1.2.840.10045.4.3.2"));
  const entries = serials.map((serial) => sequence(integer(Buffer.from(serial, "hex")), time(Date.now())));
  const list = entries.length === 0 ? [] : [sequence(...entries)];
  const tbs = sequence(smallInteger(1), algorithm, issuer.subjectDer, time(Date.now()), ...list);
  return encodePem("X509 CRL", sequence(tbs, algorithm, bitString(sign("sha256", tbs, key))));
}
