/** From a request and a proven identity to a chain. Pure but for the randomness of ECDSA signatures. */
import {
  type Csr,
  encodePem,
  issueLeaf,
  leafValidity,
  PkiError,
  parseCsrPem,
  type San,
  verifyCsr,
} from "@flotilla/pki";
import { CaError } from "../errors.ts";
import type { SigningMaterial } from "../roots/material.ts";

export interface WorkloadRequest {
  readonly csrPem: string;
  /** The URI of the certificate, whatever the request says. */
  readonly identity: string;
  /** Which of the other names in the request the identity may have. @throws CaError */
  readonly namesFor: (csr: Csr) => readonly San[];
  readonly ttlMs: number;
  readonly nowMs: number;
  /** 16 random bytes. */
  readonly serial: Uint8Array;
  /** PEM of roots that are handed over besides those of the signing material. */
  readonly moreRootsPem?: string;
}

export interface Issued {
  /** The leaf, what leads to the root one certificate each, and last the roots in one text. */
  readonly chain: readonly string[];
  readonly csr: Csr;
  readonly sans: readonly San[];
  readonly notAfterMs: number;
  /** Hexadecimal. */
  readonly serial: string;
}

/** Clocks of workloads may be behind ours by this. */
const skewMs = 120_000;
/** A request for the largest key with many names has about 4 kB. */
const maxCsrLength = 16_384;

/** @throws CaError CA_BAD_CSR, CA_NAME_REFUSED, CA_NOT_READY */
export function issueWorkload(request: WorkloadRequest, material: SigningMaterial): Issued {
  const { identity, ttlMs, nowMs, serial, moreRootsPem = "" } = request;
  if (nowMs >= material.certificate.notAfterMs)
    throw new CaError("CA_NOT_READY", "the signing certificate has expired");
  const csr = readCsr(request.csrPem);
  const sans: readonly San[] = [{ type: "uri", value: identity }, ...request.namesFor(csr)];
  const validity = leafValidity(nowMs, ttlMs, material.certificate, skewMs);
  const leaf = issueLeaf({ serial, spki: csr.spki, sans, ...validity }, material.issuer);
  return {
    chain: [encodePem("CERTIFICATE", leaf), ...material.chain, material.rootsPem + moreRootsPem],
    csr,
    sans,
    notAfterMs: validity.notAfterMs,
    serial: Buffer.from(serial).toString("hex"),
  };
}

/** Well-formed, signed by the key in it, and of a kind of key that is taken. @throws CaError CA_BAD_CSR */
export function readCsr(pem: string): Csr {
  if (pem.length > maxCsrLength) throw new CaError("CA_BAD_CSR", `the request is larger than ${maxCsrLength} bytes`);
  try {
    const csr = parseCsrPem(pem);
    verifyCsr(csr);
    return csr;
  } catch (cause) {
    if (cause instanceof PkiError) throw new CaError("CA_BAD_CSR", cause.message, { cause });
    throw cause;
  }
}
