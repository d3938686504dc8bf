/** The serving certificate of ca: issued by itself, made again for new signing material and in the middle of its life. */
import { formatIdentity } from "@flotilla/auth";
import type { TlsMaterial } from "@flotilla/auth/serving";
import { encodePem, generatePrivateKey, issueLeaf, leafValidity, privateKeyPem, sanOf, spkiOf } from "@flotilla/pki";
import { delay } from "@flotilla/runtime";
import { type ServingRules, servingNames } from "../authorize/serving-names.ts";
import type { SigningMaterial } from "../roots/material.ts";

export interface OwnCertificateOptions {
  readonly serving: ServingRules;
  readonly trustDomain: () => string;
  readonly ttlMs: number;
  readonly nowMs: () => number;
  readonly randomSerial: () => Uint8Array;
}

const skewMs = 120_000;

export async function ownCertificate(material: SigningMaterial, options: OwnCertificateOptions): Promise<TlsMaterial> {
  const { serving, trustDomain, ttlMs, nowMs, randomSerial } = options;
  const key = await generatePrivateKey("ecdsa-p256");
  const identity = formatIdentity({
    trustDomain: trustDomain(),
    namespace: serving.namespace,
    serviceAccount: "flotilla-ca",
  });
  const leaf = issueLeaf(
    {
      serial: randomSerial(),
      spki: spkiOf(key),
      sans: [identity, ...servingNames(serving)].map(sanOf),
      ...leafValidity(nowMs(), ttlMs, material.certificate, skewMs),
    },
    material.issuer,
  );
  return {
    keyPem: privateKeyPem(key),
    chainPem: [encodePem("CERTIFICATE", leaf), ...material.chain].join(""),
    rootsPem: material.rootsPem,
  };
}

/** Calls `renew` in the middle of each certificate's life until `stop` fires. */
export async function renewByHalf(ttlMs: number, renew: () => Promise<void>, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    await delay(Math.min(ttlMs / 2, 2 ** 31 - 1), stop);
    if (!stop.aborted) await renew();
  }
}
