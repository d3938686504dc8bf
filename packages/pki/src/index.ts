export { PkiError, type PkiErrorCode } from "./errors.ts";
export {
  generatePrivateKey,
  isSameKey,
  type KeyAlgorithm,
  keyAlgorithms,
  parsePrivateKey,
  privateKeyPem,
  spkiOf,
} from "./keys.ts";
export { oids } from "./oids.ts";
export { appendPem, encodePem, type PemBlock, parsePem } from "./pem.ts";
export { checkKeyPolicy, type PublicKeyInfo, parsePublicKeyInfo } from "./public-key-info.ts";
export {
  type Certificate,
  certificatePem,
  fingerprint,
  parseCertificate,
  parseCertificatePem,
  parseCertificatesPem,
  rootId,
} from "./x509/certificate.ts";
export { type ChainRequest, describe, verifyChain } from "./x509/chain.ts";
export { type Crl, isRevoked, parseCrlsPem, verifyCrl } from "./x509/crl.ts";
export { buildCsr, type Csr, type CsrRequest, csrPem, parseCsr, parseCsrPem, verifyCsr } from "./x509/csr.ts";
export type { Extension, KeyUsage } from "./x509/extensions.ts";
export {
  type CaRequest,
  type Issuer,
  issueCa,
  issueLeaf,
  issueRoot,
  issuerOf,
  type LeafRequest,
  leafValidity,
  renewRoot,
  type Validity,
} from "./x509/issue.ts";
export type { Name } from "./x509/name.ts";
export { encodeSans, parseSans, type San, sanOf, spiffeIds } from "./x509/san.ts";
