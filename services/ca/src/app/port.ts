/** The port on which certificates are issued, and the certificate of its own, which follows the roots. */
import { callerOf, droppedConnections, serveGrpcTls, writeCertificateFiles } from "@flotilla/auth/serving";
import { certificateService, create, decode, encode } from "@flotilla/proto";
import {
  type IstioCertificateRequest,
  IstioCertificateRequestSchema,
  IstioCertificateResponseSchema,
} from "@flotilla/proto/security/v1alpha1/ca_pb";
import { GrpcError, grpcStatus, type Handler, RawGrpcServer, unary } from "@flotilla/raw-grpc";
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

const secondMs = 1_000;
const minuteMs = 60_000;
/** A request holds a CSR and some metadata. */
const maxMessageBytes = 65_536;
/** A proxy has one request at a time, a node proxy one for each of its pods. */
const maxStreamsPerConnection = 8;

/** The gRPC side of issuing: one unary method. */
function createGrpcServer(parts: IssuerParts): RawGrpcServer {
  const { log, metrics } = parts;
  const { path } = certificateService.createCertificate;
  return new RawGrpcServer({
    methods: new Map([[path, createHandler(parts, (error) => log.error("request failed", { error }))]]),
    ...{ maxMessageBytes, maxStreamsPerConnection },
    ...{ keepaliveMs: minuteMs, keepaliveTimeoutMs: 20 * secondMs },
    // Callers spread over replicas again after one of them was away.
    ...{ maxAgeMs: 30 * minuteMs, maxAgeGraceMs: minuteMs },
    onIdleClosed: () => metrics.idleConnectionsClosed.add(1),
  });
}

function createHandler(parts: IssuerParts, onFailure: (error: unknown) => void): Handler {
  return unary(async (bytes, call) => {
    const outcome = await createCertificate(readRequest(bytes), callerOf(call), parts);
    if ("code" in outcome) throw new GrpcError(outcome.code, outcome.details);
    const response = create(IstioCertificateResponseSchema, { certChain: [...outcome.chain] });
    return encode(IstioCertificateResponseSchema, response);
  }, onFailure);
}

/** @throws GrpcError INTERNAL for bytes that are not a message, as gRPC servers do */
function readRequest(bytes: Buffer): IstioCertificateRequest {
  try {
    return decode(IstioCertificateRequestSchema, bytes);
  } catch {
    throw new GrpcError(grpcStatus.internal, "the request cannot be read");
  }
}
