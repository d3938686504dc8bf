/** The port on which certificates are issued, and the certificate of its own, which follows the roots. */
import { droppedConnections, serveGrpcTls, writeCertificateFiles } from "@flotilla/auth/serving";
import type { MeshTrust } from "../mesh/mesh-trust.ts";
import type { SigningMaterial } from "../roots/material.ts";
import { writeRootFile } from "../roots/root-file.ts";
import type { ActiveMaterial } from "../rotation/active-material.ts";
import { ownTtlMs } from "../serve/client-certificate.ts";
import type { IssuerParts } from "../serve/create-certificate.ts";
import { createGrpcServer } from "../serve/grpc-service.ts";
import { OwnCertificate, ownCertificate } from "../serve/own-certificate.ts";
import type { CaService } from "../settings.ts";

export interface PortParts {
  /** What a request passes. */
  readonly issuer: IssuerParts;
  readonly trust: MeshTrust;
  readonly active: ActiveMaterial;
  /** The first one in use. */
  readonly material: SigningMaterial;
}

export interface CaPort extends AsyncDisposable {
  readonly port: number;
  readonly certificate: OwnCertificate;
}

export async function openPort(
  { settings, metrics, log }: CaService,
  { issuer, trust, active, material }: PortParts,
): Promise<CaPort> {
  const { host, port, clientCertificateDir: directory, rootFile } = settings;
  const own = { ...issuer, trustDomain: () => trust.trustDomain, ttlMs: ownTtlMs };
  const first = await ownCertificate(material, own);
  if (directory !== undefined) await writeCertificateFiles(directory, first);
  const tls = await serveGrpcTls({
    ...{ server: createGrpcServer(issuer), material: first, host, port, setting: "CA_PORT" },
    log: log.child({ part: "tls" }),
    dropped: droppedConnections(metrics),
  });
  const certificate = new OwnCertificate(first, {
    issue: () => ownCertificate(active.current ?? material, own),
    use: async (next) => {
      tls.reload(next);
      if (directory !== undefined) await writeCertificateFiles(directory, next);
    },
    log: log.child({ part: "tls" }),
    nowMs: issuer.nowMs,
  });
  trust.onChange(() => void certificate.renew());
  active.onChange(({ rootsPem }) => {
    void certificate.renew();
    writeRootFile(rootFile, rootsPem).catch((error: unknown) => log.error("roots not written", { error }));
  });
  return { port: tls.port, certificate, [Symbol.asyncDispose]: () => tls[Symbol.asyncDispose]() };
}
