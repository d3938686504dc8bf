/** From a request and a proven identity to a chain. Pure but for the randomness of ECDSA signatures. */

import { randomFillSync } from "node:crypto";
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
  /** The URI of the certificate, whatever the request contains. */
  readonly identity: string;
  /** The other names in the request that the identity may have. @throws CaError */
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

export interface TtlRules {
  readonly defaultTtlMs: number;
  readonly maxTtlMs: number;
}

/** How long a certificate may live. @throws CaError CA_BAD_TTL above the maximum. */
export function ttlOf(requestedSeconds: bigint, { defaultTtlMs, maxTtlMs }: TtlRules): number {
  if (requestedSeconds <= 0n) return defaultTtlMs;
  if (requestedSeconds * 1000n > BigInt(Math.floor(maxTtlMs))) {
    const [asked, most] = [requestedSeconds, BigInt(Math.floor(maxTtlMs / 1000))].map(durationText);
    throw new CaError("CA_BAD_TTL", `requested TTL ${asked} is greater than the max allowed TTL ${most}`);
  }
  return Number(requestedSeconds) * 1000;
}

function durationText(seconds: bigint): string {
  return `${seconds / 3600n}h${(seconds / 60n) % 60n}m${seconds % 60n}s`;
}

const size = 16;
const batch = 256;

/** Serial numbers: 16 random bytes each, fetched from the system for many at once. */
export function serialSource(): () => Uint8Array {
  const pool = Buffer.alloc(size * batch);
  let at = pool.length;
  return () => {
    if (at === pool.length) {
      randomFillSync(pool);
      at = 0;
    }
    at += size;
    // A copy: the pool is filled again while serials of it are still in use.
    return Uint8Array.prototype.slice.call(pool, at - size, at);
  };
}
