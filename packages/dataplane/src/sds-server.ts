/**
 * The secret discovery service that pilot-agent offers to the Envoy beside it, for Envoys that run
 * without an agent: serves the workload's certificate (`default`) and the roots (`ROOTCA`).
 */
import { rm } from "node:fs/promises";
import { create, decode, encode, pack } from "@flotilla/proto";
import { type Secret, SecretSchema } from "@flotilla/proto/envoy/extensions/transport_sockets/tls/v3/secret_pb";
import {
  type DeltaDiscoveryRequest,
  DeltaDiscoveryRequestSchema,
  DeltaDiscoveryResponseSchema,
  type DiscoveryRequest,
  DiscoveryRequestSchema,
  DiscoveryResponseSchema,
} from "@flotilla/proto/envoy/service/discovery/v3/discovery_pb";
import { type handleBidiStreamingCall, Server, ServerCredentials, type ServerDuplexStream } from "@grpc/grpc-js";

export interface WorkloadCertificate {
  /** PEM: leaf first. */
  readonly chain: string;
  /** PEM, PKCS #8. */
  readonly key: string;
  /** PEM: every root that peers are checked against. */
  readonly roots: string;
}

export interface SdsServer extends AsyncDisposable {
  /** Sends a renewed certificate to every stream. */
  update(certificate: WorkloadCertificate): void;
}

interface Stream {
  readonly names: Set<string>;
  send(): void;
}

/** Listens on a Unix socket; the socket of an earlier process is replaced. */
export async function serveSecrets(socketPath: string, first: WorkloadCertificate): Promise<SdsServer> {
  let current = first;
  let version = 1;
  const streams = new Set<Stream>();
  const server = new Server();
  const track = (call: ServerDuplexStream<unknown, Buffer>, stream: Stream) => {
    streams.add(stream);
    call.on("end", () => call.end());
    // Comes however the call ends: a client that disappears, or sends something that is no request, causes neither `end` nor `error`.
    call.on("close", () => streams.delete(stream));
  };
  const stateOfTheWorld: handleBidiStreamingCall<DiscoveryRequest, Buffer> = (call) => {
    const stream = { names: new Set<string>(), send: () => call.write(fullResponse(stream.names, current, version)) };
    track(call, stream);
    call.on("data", (request: DiscoveryRequest) => {
      if (request.responseNonce === String(version)) return;
      for (const name of request.resourceNames) stream.names.add(name);
      stream.send();
    });
  };
  const delta: handleBidiStreamingCall<DeltaDiscoveryRequest, Buffer> = (call) => {
    const stream = { names: new Set<string>(), send: () => call.write(deltaResponse(stream.names, current, version)) };
    track(call, stream);
    call.on("data", (request: DeltaDiscoveryRequest) => {
      if (request.resourceNamesSubscribe.length === 0) return;
      for (const name of request.resourceNamesSubscribe) stream.names.add(name);
      stream.send();
    });
  };
  server.addService(secretDiscoveryService, { streamSecrets: stateOfTheWorld, deltaSecrets: delta });
  await rm(socketPath, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix:${socketPath}`, ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(),
    );
  });
  return {
    update: (certificate) => {
      current = certificate;
      version++;
      for (const stream of streams) stream.send();
    },
    [Symbol.asyncDispose]: async () => server.forceShutdown(),
  };
}

const secretType = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret";
const service = "/envoy.service.secret.v3.SecretDiscoveryService";
const bytes = (value: Buffer): Buffer => value;

const secretDiscoveryService = {
  streamSecrets: {
    path: `${service}/StreamSecrets`,
    requestStream: true,
    responseStream: true,
    requestSerialize: bytes,
    requestDeserialize: (value: Buffer) => decode(DiscoveryRequestSchema, value),
    responseSerialize: bytes,
    responseDeserialize: bytes,
  },
  deltaSecrets: {
    path: `${service}/DeltaSecrets`,
    requestStream: true,
    responseStream: true,
    requestSerialize: bytes,
    requestDeserialize: (value: Buffer) => decode(DeltaDiscoveryRequestSchema, value),
    responseSerialize: bytes,
    responseDeserialize: bytes,
  },
} as const;

function fullResponse(names: ReadonlySet<string>, certificate: WorkloadCertificate, version: number): Buffer {
  const resources = [...names].map((name) => pack(SecretSchema, secretOf(name, certificate)));
  const response = create(DiscoveryResponseSchema, {
    typeUrl: secretType,
    versionInfo: String(version),
    nonce: String(version),
    resources,
  });
  return Buffer.from(encode(DiscoveryResponseSchema, response));
}

function deltaResponse(names: ReadonlySet<string>, certificate: WorkloadCertificate, version: number): Buffer {
  const resources = [...names].map((name) => {
    return { name, version: String(version), resource: pack(SecretSchema, secretOf(name, certificate)) };
  });
  const response = create(DeltaDiscoveryResponseSchema, { typeUrl: secretType, nonce: String(version), resources });
  return Buffer.from(encode(DeltaDiscoveryResponseSchema, response));
}

function secretOf(name: string, { chain, key, roots }: WorkloadCertificate): Secret {
  if (name === "ROOTCA") {
    const trustedCa = { specifier: { case: "inlineString" as const, value: roots } };
    return create(SecretSchema, { name, type: { case: "validationContext", value: { trustedCa } } });
  }
  const certificateChain = { specifier: { case: "inlineString" as const, value: chain } };
  const privateKey = { specifier: { case: "inlineString" as const, value: key } };
  return create(SecretSchema, { name, type: { case: "tlsCertificate", value: { certificateChain, privateKey } } });
}
