/** /debug/caz: what the CA signs with and whom it serves. Nothing in it is secret. */
import { type Certificate, describe, fingerprint } from "@flotilla/pki";
import type { HttpReply } from "@flotilla/runtime";
import type { SigningMaterial } from "../roots/material.ts";

export interface CaStatus {
  readonly material: SigningMaterial | undefined;
  readonly trustDomains: readonly string[];
  /** Requests that wait. */
  readonly waiting: number;
  readonly nowMs: number;
}

export function statusPage({ material, trustDomains, waiting, nowMs }: CaStatus): HttpReply {
  const signing = material && { origin: material.origin, ...summary(material.certificate, nowMs) };
  const roots = material?.roots.map((root) => summary(root, nowMs)) ?? [];
  return { json: { trustDomains, waiting, signing: signing ?? null, roots } };
}

function summary(certificate: Certificate, nowMs: number): object {
  const { serial, notBeforeMs, notAfterMs } = certificate;
  return {
    name: describe(certificate),
    serial,
    sha256: fingerprint(certificate),
    notBefore: new Date(notBeforeMs).toISOString(),
    notAfter: new Date(notAfterMs).toISOString(),
    daysLeft: Math.floor((notAfterMs - nowMs) / 86_400_000),
  };
}
