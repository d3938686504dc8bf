/** The gRPC side of issuing: one unary method. */
import { callerOf } from "@flotilla/auth/serving";
import { certificateService, create } from "@flotilla/proto";
import {
  type IstioCertificateRequest,
  type IstioCertificateResponse,
  IstioCertificateResponseSchema,
} from "@flotilla/proto/security/v1alpha1/ca_pb";
import { type handleUnaryCall, Server } from "@grpc/grpc-js";
import { createCertificate, type IssuerParts } from "./create-certificate.ts";

const minuteMs = 60_000;

export function createGrpcServer(parts: IssuerParts): Server {
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
