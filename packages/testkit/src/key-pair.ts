/** Certificates and keys for tests, as Secrets hold them. */
import { randomBytes } from "node:crypto";
import {
  certificatePem,
  generatePrivateKey,
  type Issuer,
  issueLeaf,
  issueRoot,
  issuerOf,
  type KeyAlgorithm,
  parseCertificate,
  privateKeyPem,
  sanOf,
  spkiOf,
} from "@flotilla/pki";

export interface KeyPair {
  readonly certificatePem: string;
  readonly keyPem: string;
}

export interface KeyPairRequest {
  readonly hosts?: readonly string[];
  readonly notAfterMs?: number;
  readonly algorithm?: KeyAlgorithm;
}

export interface TestAuthority {
  readonly rootPem: string;
  keyPair(request?: KeyPairRequest): Promise<KeyPair>;
}

const dayMs = 86_400_000;

/** A root that signs what a test asks for. */
export async function createTestAuthority(nowMs = Date.now()): Promise<TestAuthority> {
  const key = await generatePrivateKey("ecdsa-p256");
  const times = { notBeforeMs: nowMs - 30 * dayMs, notAfterMs: nowMs + dayMs };
  const subject = { commonName: "test root" };
  const root = issueRoot({ serial: randomBytes(16), subject, ...times }, key);
  const issuer: Issuer = issuerOf(root, key);
  return {
    rootPem: certificatePem(root),
    keyPair: async ({ hosts = ["web.example.com"], notAfterMs = times.notAfterMs, algorithm = "ecdsa-p256" } = {}) => {
      const own = await generatePrivateKey(algorithm);
      const request = { serial: randomBytes(16), spki: spkiOf(own), sans: hosts.map(sanOf), ...times, notAfterMs };
      const leaf = parseCertificate(issueLeaf(request, issuer));
      return { certificatePem: certificatePem(leaf), keyPem: privateKeyPem(own) };
    },
  };
}
