/** The serving certificate of ca: issued by itself, made again for new signing material, in the middle of its life, and after the clock jumped. */
import { formatIdentity } from "@flotilla/auth";
import type { TlsMaterial } from "@flotilla/auth/serving";
import {
  encodePem,
  generatePrivateKey,
  issueLeaf,
  leafValidity,
  parseCertificatePem,
  privateKeyPem,
  sanOf,
  spkiOf,
} from "@flotilla/pki";
import { type Logger, sharedDelay, Turns } from "@flotilla/runtime";
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

export interface KeepOwnCertificateOptions {
  /** With the signing material of now. @throws CaError, PkiError */
  readonly issue: () => Promise<TlsMaterial>;
  /** Begins to use it; may reject, then it is called again with another one. */
  readonly use: (material: TlsMaterial) => Promise<void>;
  readonly log: Logger;
  readonly nowMs: () => number;
  /** Between two looks at the clock. */
  readonly lookMs?: number;
}

const usualLookMs = 1_000;

/**
 * Keeps ca's own certificate valid by the wall clock: clients that need a certificate prove nothing to a ca whose own has ended, so that a
 * clock that jumps must be noticed here first.
 */
export class OwnCertificate {
  readonly #options: KeepOwnCertificateOptions;
  readonly #turns = new Turns();
  #renewAtMs: number;
  #notBeforeMs: number;
  #failure: string | undefined;

  /** `first`: in use already. */
  constructor(first: TlsMaterial, options: KeepOwnCertificateOptions) {
    this.#options = options;
    const { notBeforeMs, renewAtMs } = lifeOf(first, options.nowMs());
    this.#notBeforeMs = notBeforeMs;
    this.#renewAtMs = renewAtMs;
  }

  /** At once: the signing material or the names have changed. A failure is logged, and tried again by `follow`. */
  renew(): Promise<void> {
    return this.#turns.take(() => this.#renew());
  }

  /** Renews it in the middle of its life, and when the clock was set to a time outside of it, until `stop` fires. */
  async follow(stop: AbortSignal): Promise<void> {
    const { lookMs = usualLookMs } = this.#options;
    while (!stop.aborted) {
      await sharedDelay(lookMs, stop);
      if (!stop.aborted && this.#isDue()) await this.renew();
    }
  }

  #isDue(): boolean {
    const now = this.#options.nowMs();
    return this.#failure !== undefined || now >= this.#renewAtMs || now < this.#notBeforeMs;
  }

  async #renew(): Promise<void> {
    const { issue, use, log, nowMs } = this.#options;
    try {
      const next = await issue();
      await use(next);
      const { notBeforeMs, notAfterMs, renewAtMs } = lifeOf(next, nowMs());
      [this.#notBeforeMs, this.#renewAtMs, this.#failure] = [notBeforeMs, renewAtMs, undefined];
      log.debug("own certificate renewed", { notAfter: new Date(notAfterMs).toISOString() });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      // The same trouble is logged once, not at each attempt.
      if (reason !== this.#failure) log.error("own certificate not renewed, trying again", { error });
      this.#failure = reason;
    }
  }
}

function lifeOf({ chainPem }: TlsMaterial, nowMs: number) {
  const { notBeforeMs, notAfterMs } = parseCertificatePem(chainPem);
  return { notBeforeMs, notAfterMs, renewAtMs: nowMs + (notAfterMs - nowMs) / 2 };
}
