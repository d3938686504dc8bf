/** Making certificates and requests: ours are made by the same options and then checked against them. */
import { createPrivateKey, type KeyObject, randomBytes } from "node:crypto";
import {
  buildCsr,
  type Certificate,
  certificatePem,
  checkKeyPolicy,
  generatePrivateKey,
  issueCa,
  issueLeaf,
  issueRoot,
  issuerOf,
  type KeyAlgorithm,
  keyAlgorithms,
  type Name,
  oids,
  parseCertificate,
  parseCertificatePem,
  parseCsr,
  parsePrivateKey,
  parsePublicKeyInfo,
  renewRoot,
  type San,
  sanOf,
  spkiOf,
  verifyChain,
  verifyCsr,
} from "@flotilla/pki";
import { millisOf } from "./certificates.ts";
import { bytesOf, type Counterpart, nowMs } from "./judge.ts";

interface CertOptions {
  readonly Host?: string;
  readonly Org?: string;
  readonly IsCA?: boolean;
  readonly IsSelfSigned?: boolean;
  readonly IsServer?: boolean;
  readonly IsClient?: boolean;
  readonly IsDualUse?: boolean;
  readonly NotBefore?: string;
  readonly TTL?: string;
  readonly RSAKeySize?: number;
  readonly ECSigAlg?: string;
  readonly ECCCurve?: string;
  readonly SignerCert?: { readonly Raw: unknown };
  readonly SignerPriv?: GoKey;
  readonly SignerPrivPem?: string;
}

interface GoKey {
  readonly D: string;
  readonly Primes?: readonly string[];
  readonly PublicKey?: { readonly E: number; readonly N: string };
}

export const generatingFunctions: Readonly<Record<string, Counterpart>> = {
  GenCertKeyFromOptions: async (options: CertOptions) => {
    const key = await generatePrivateKey(algorithmOf(options));
    return [made(options, key), key];
  },
  GenRootCertFromExistingKey: (options: CertOptions) => {
    const key = parsePrivateKey(options.SignerPrivPem ?? "");
    return [made(options, key), key];
  },
  // The part of the previous root that a renewed one keeps, over the options of a new one: its name.
  MergeCertOptions: async (defaults: CertOptions, before: CertOptions) => {
    const key = await generatePrivateKey("ecdsa-p256");
    const times = { serial: randomBytes(16), notBeforeMs: nowMs, notAfterMs: nowMs + 1000 };
    const { organization = defaults.Org } = renewRoot(
      issueRoot({ ...times, subject: nameOf({ ...before, IsDualUse: false }) }, key),
      key,
      times,
    ).subject;
    return { ...defaults, Org: organization };
  },
  GetCertOptionsFromExistingCert: (pem: string) => ({ Org: parseCertificatePem(pem).subject.organization }),
  GenCSR: async (options: CertOptions) => {
    const key = await generatePrivateKey(algorithmOf(options));
    return [madeRequest(options, key), key];
  },
  GenCSRTemplate: async (options: CertOptions) => madeRequest(options, await generatePrivateKey("ecdsa-p256")),
};

function madeRequest(options: CertOptions, key: KeyObject): object {
  const csr = parseCsr(buildCsr({ key, sans: sansOf(options), subject: nameOf(options) }));
  verifyCsr(csr);
  same("names", csr.sans, sansOf(options));
  same("subject", csr.subject, nameOf(options));
  return csr;
}

function made(options: CertOptions, key: KeyObject): string {
  const signer = options.IsSelfSigned === true ? undefined : signerOf(options);
  const notBeforeMs = Date.parse(options.NotBefore ?? new Date(nowMs).toISOString());
  const usages = [
    ...(options.IsServer === true ? (["server"] as const) : []),
    ...(options.IsClient === true ? (["client"] as const) : []),
  ];
  const request = {
    serial: randomBytes(16),
    notBeforeMs,
    notAfterMs: notBeforeMs + millisOf(options.TTL ?? "1h0m0s"),
    subject: nameOf(options),
    sans: sansOf(options),
    spki: spkiOf(key),
    usages,
  };
  const certificate =
    signer === undefined
      ? issueRoot(request, key)
      : parseCertificate(options.IsCA === true ? issueCa(request, signer.issuer) : issueLeaf(request, signer.issuer));
  check(certificate, options, request, signer?.certificate ?? certificate);
  return certificatePem(certificate);
}

function check(
  certificate: Certificate,
  options: CertOptions,
  request: { readonly notBeforeMs: number; readonly notAfterMs: number },
  root: Certificate,
): void {
  const whole = (ms: number): number => Math.floor(ms / 1000) * 1000;
  checkKeyPolicy(parsePublicKeyInfo(certificate.spki));
  same("names", certificate.sans, sansOf(options));
  same("subject", certificate.subject, nameOf(options));
  same("CA", certificate.basicConstraints.isCa, options.IsCA === true);
  same("server", certificate.extKeyUsage?.includes(oids.serverAuth) === true, options.IsServer === true);
  same("client", certificate.extKeyUsage?.includes(oids.clientAuth) === true, options.IsClient === true);
  same("start", certificate.notBeforeMs, whole(request.notBeforeMs));
  same("end", certificate.notAfterMs, whole(request.notAfterMs));
  verifyChain({ leaf: certificate, intermediates: [], roots: [root], nowMs: certificate.notBeforeMs + 1000 });
}

function algorithmOf({ RSAKeySize, ECSigAlg, ECCCurve }: CertOptions): KeyAlgorithm {
  if (ECSigAlg !== undefined && ECSigAlg !== "" && ECSigAlg !== "ECDSA") throw new Error(`no keys of type ${ECSigAlg}`);
  const wanted = ECSigAlg === "ECDSA" ? (ECCCurve === "P384" ? "ecdsa-p384" : "ecdsa-p256") : `rsa-${RSAKeySize}`;
  const known = keyAlgorithms.find((algorithm) => algorithm === wanted);
  if (known === undefined) throw new Error(`no keys of type ${wanted}`);
  return known;
}

function nameOf({ Org, IsDualUse, Host = "" }: CertOptions): Name {
  return {
    ...(Org !== undefined && Org !== "" && { organization: Org }),
    ...(IsDualUse === true && { commonName: Host.split(",")[0] ?? "" }),
  };
}

function sansOf({ Host = "" }: CertOptions): readonly San[] {
  return Host === "" ? [] : Host.split(",").map(sanOf);
}

function signerOf({ SignerCert, SignerPriv, SignerPrivPem }: CertOptions) {
  const certificate = parseCertificate(bytesOf(SignerCert?.Raw));
  const key = SignerPrivPem === undefined ? keyOf(SignerPriv as GoKey, certificate) : parsePrivateKey(SignerPrivPem);
  return { certificate, issuer: issuerOf(certificate, key) };
}

/** From the numbers that Go prints. */
function keyOf({ D, Primes, PublicKey }: GoKey, certificate: Certificate): KeyObject {
  const d = BigInt(D);
  if (Primes === undefined || PublicKey === undefined) {
    const jwk = certificate.publicKey.export({ format: "jwk" });
    return createPrivateKey({ key: { ...jwk, d: base64Of(d, 32) }, format: "jwk" });
  }
  const [p = 0n, q = 0n] = Primes.map(BigInt);
  const numbers = {
    n: BigInt(PublicKey.N),
    e: BigInt(PublicKey.E),
    d,
    p,
    q,
    dp: d % (p - 1n),
    dq: d % (q - 1n),
    qi: inverse(q, p),
  };
  const jwk = Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, base64Of(value)]));
  return createPrivateKey({ key: { kty: "RSA", ...jwk }, format: "jwk" });
}

function base64Of(value: bigint, bytes = 0): string {
  const digits = value.toString(16);
  return Buffer.from(digits.padStart(Math.max(bytes * 2, digits.length + (digits.length % 2)), "0"), "hex").toString(
    "base64url",
  );
}

function inverse(value: bigint, modulus: bigint): bigint {
  let [a, b, x, y] = [value % modulus, modulus, 1n, 0n];
  while (a > 1n) {
    const quotient = a / b;
    [a, b] = [b, a % b];
    [x, y] = [y, x - quotient * y];
  }
  return x < 0n ? x + modulus : x;
}

function same(what: string, got: unknown, want: unknown): void {
  if (JSON.stringify(got) !== JSON.stringify(want))
    throw new Error(`${what}: ${JSON.stringify(got)}, not ${JSON.stringify(want)}`);
}
