/**
 * ca's own certificate for its connection to NATS, before anything was received over that connection: NATS asks for a certificate of
 * ca, and the MeshConfig and the state of a rotation come over NATS.
 */
import { writeCertificateFiles } from "@flotilla/auth/serving";
import type { Logger } from "@flotilla/runtime";
import type { MeshTrust } from "../mesh/mesh-trust.ts";
import { readCacerts } from "../roots/cacerts.ts";
import { type MaterialFiles, readMaterial, type SigningMaterial } from "../roots/material.ts";
import type { SelfSignedStore } from "../roots/self-signed-store.ts";
import { combine } from "../rotation/active-material.ts";
import type { Settings } from "../settings.ts";
import { serialSource } from "../sign/issue-workload.ts";
import { servingRules } from "./create-issuer.ts";
import { ownCertificate } from "./own-certificate.ts";

export interface ClientCertificateParts {
  readonly trust: MeshTrust;
  readonly store: SelfSignedStore;
  readonly log: Logger;
}

/** Of our own certificates. */
export const ownTtlMs = 86_400_000;

/**
 * Into CLIENT_CERTIFICATE_DIR; nothing where none is set. Without good signing material there is none yet: the reason is reported
 * where the material is loaded, and the certificate follows then.
 */
export async function writeFirstClientCertificate(settings: Settings, parts: ClientCertificateParts): Promise<void> {
  const { clientCertificateDir } = settings;
  if (clientCertificateDir === undefined) return;
  const { trust, log } = parts;
  try {
    const material = await knownMaterial(settings, parts);
    const certificate = await ownCertificate(material, {
      serving: servingRules(settings, () => trust.all),
      trustDomain: () => trust.trustDomain,
      ttlMs: ownTtlMs,
      nowMs: Date.now,
      randomSerial: serialSource(),
    });
    await writeCertificateFiles(clientCertificateDir, certificate);
  } catch (error) {
    log.warn("no certificate for the bus yet", { error });
  }
}

/** NATS may have got its certificate from the root to come, if a rotation runs: that one is trusted too. */
async function knownMaterial(settings: Settings, { trust, store }: ClientCertificateParts): Promise<SigningMaterial> {
  const { rootCaDir, rootCaNextDir, selfSignedKey: keyType, selfSignedTtlMs: ttlMs } = settings;
  const { rootInCacerts: ignoresGenerated } = settings;
  const root = { keyType, ttlMs, trustDomain: trust.trustDomain };
  const nowMs = Date.now();
  const read = (files: MaterialFiles): SigningMaterial => readMaterial(files, undefined, nowMs);
  const base = read((await readCacerts(rootCaDir, { ignoresGenerated })) ?? (await store.open(root, nowMs)));
  const next = (await readCacerts(rootCaNextDir)) ?? (await store.next(root, nowMs));
  return combine("trusting", base, next && read(next));
}
