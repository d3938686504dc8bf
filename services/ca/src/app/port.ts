/** The port on which certificates are issued, and the certificate of its own, which follows the roots. */
import { callerOf, droppedConnections, serveGrpcTls, writeCertificateFiles } from "@flotilla/auth/serving";
import { certificateService, create } from "@flotilla/proto";
import {
  type IstioCertificateRequest,
  type IstioCertificateResponse,
  IstioCertificateResponseSchema,
} from "@flotilla/proto/security/v1alpha1/ca_pb";
import { type handleUnaryCall, Server } from "@grpc/grpc-js";
import type { MeshTrust } from "../mesh/mesh-trust.ts";
import type { SigningMaterial } from "../roots/material.ts";
import type { ActiveMaterial } from "../rotation/active-material.ts";
import { ownTtlMs } from "../serve/client-certificate.ts";
import { createCertificate, type IssuerParts } from "../serve/create-certificate.ts";
import { OwnCertificate, ownCertificate } from "../serve/own-certificate.ts";
import type { CaService } from "../settings.ts";
import { writeRootFile } from "./material.ts";

interface PortParts {
  /** The stages that a request passes. */
  readonly issuer: IssuerParts;
  readonly trust: MeshTrust;
  readonly active: ActiveMaterial;
  /** The first one in use. */
  readonly material: SigningMaterial;
}

interface CaPort extends AsyncDisposable {
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
    ...{ server: createGrpcServer(issuer), material: first, policy: settings, host, port, setting: "CA_PORT" },
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

const minuteMs = 60_000;

/** The gRPC side of issuing: one unary method. */
function createGrpcServer(parts: IssuerParts): Server {
  const server = new Server({
    "grpc.max_receive_message_length": 65_536,
    // A proxy has one request at a time, a node proxy one for each of its pods.
    "grpc.max_concurrent_streams": 8,
    "grpc.max_connection_idle_ms": 5 * minuteMs,
    // Callers spread over replicas again after one of them was away.
    "grpc.max_connection_age_ms": 30 * minuteMs,
    "grpc.max_connection_age_grace_ms": minuteMs,
    "grpc.keepalive_time_ms": minuteMs,
  });
  const handle: handleUnaryCall<IstioCertificateRequest, IstioCertificateResponse> = (call, reply) => {
    createCertificate(call.request, callerOf(call), parts).then(
      (outcome) =>
        "code" in outcome
          ? reply(outcome)
          : reply(null, create(IstioCertificateResponseSchema, { certChain: [...outcome.chain] })),
      (error: unknown) => reply(error instanceof Error ? error : new Error(String(error))),
    );
  };
  server.addService({ createCertificate: certificateService.createCertificate }, { createCertificate: handle });
  return server;
}
