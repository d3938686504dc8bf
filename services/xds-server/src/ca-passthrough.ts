/**
 * The CA's service on the secure port: each request goes on to ca as it came, so that a client needs one address only. A
 * caller's token is passed on unchanged, over a channel that shows no certificate; a caller's client certificate is sent to ca over a
 * channel that shows ours, and judged there again. Neither channel can give an unproven caller our identity.
 */
import { type Authenticator, type Caller, formatXfcc } from "@flotilla/auth";
import type { TlsMaterial } from "@flotilla/auth/serving";
import { certificateService, channelOptions } from "@flotilla/proto";
import { GrpcError, type Handler, type RawCall, unary } from "@flotilla/raw-grpc";
import type { Logger, Metrics } from "@flotilla/runtime";
import { Client, credentials, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { callerOf } from "./serve/authenticate.ts";

export interface PassthroughOptions {
  /** `host:port` of ca. */
  readonly caAddress: string;
  readonly caServerName: string;
  readonly material: TlsMaterial;
  /** Proves callers by their client certificate. */
  readonly certificates: Authenticator;
  readonly metrics: Metrics;
  readonly log: Logger;
}

export interface CaPassthrough extends Disposable {
  readonly methods: ReadonlyMap<string, Handler>;
  /** Our certificate or the root that ca's leads to has changed. */
  reload(material: TlsMaterial): void;
}

/** A little longer than clients wait by themselves. */
const deadlineMs = 30_000;
const raw = (bytes: Buffer): Buffer => bytes;

export function createCaPassthrough(options: PassthroughOptions): CaPassthrough {
  const { certificates, log } = options;
  let channels = openChannels(options, options.material);
  const forwarded = options.metrics.counter({
    name: "flotilla_ca_requests_forwarded_total",
    help: "Certificate requests passed on to ca, by what ca answered",
    labels: ["code"],
  });
  const { path } = certificateService.createCertificate;
  const forward = async (request: Buffer, call: RawCall, cancelled: AbortSignal): Promise<Buffer> => {
    const caller = callerOf(call);
    const verdict = await certificates.authenticate(caller);
    const metadata = handedOn(caller);
    const { peerCertificate } = caller;
    const isNamed = verdict.authenticated && peerCertificate !== undefined;
    if (isNamed) metadata.set("x-forwarded-client-cert", formatXfcc(peerCertificate, verdict.identities));
    const client = isNamed ? channels.named : channels.plain;
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    const done = (error: ServiceError | null, response?: Buffer): void => {
      forwarded.add(1, { code: status[error?.code ?? status.OK] ?? "UNKNOWN" });
      if (error?.code === status.UNAVAILABLE)
        log.warn("ca does not answer", { ca: options.caAddress, reason: error.details });
      if (response !== undefined) resolve(response);
      else reject(refusalOf(error));
    };
    const deadline = Date.now() + deadlineMs;
    const asked = client.makeUnaryRequest(path, raw, raw, request, metadata, { deadline }, done);
    cancelled.addEventListener("abort", () => asked.cancel(), { once: true });
    return promise;
  };
  const onFailure = (error: unknown): void => log.error("certificate request failed", { error });
  return {
    methods: new Map([[path, unary(forward, onFailure)]]),
    reload: (material) => {
      const before = channels;
      channels = openChannels(options, material);
      before[Symbol.dispose]();
    },
    [Symbol.dispose]: () => channels[Symbol.dispose](),
  };
}

/** On a port without TLS, as in istiod: no token that was sent in clear gets a certificate. */
export const refusedCertificates: ReadonlyMap<string, Handler> = new Map([
  [
    certificateService.createCertificate.path,
    (call) => call.end({ code: status.UNAUTHENTICATED, details: "request authenticate failure" }),
  ],
]);

interface Channels extends Disposable {
  /** Shows no certificate. */
  readonly plain: Client;
  /** Shows ours. */
  readonly named: Client;
}

function openChannels({ caAddress, caServerName }: PassthroughOptions, material: TlsMaterial): Channels {
  const [roots, key, chain] = [material.rootsPem, material.keyPem, material.chainPem].map((pem) => Buffer.from(pem));
  const open = (tls: ReturnType<typeof credentials.createSsl>): Client =>
    new Client(caAddress, tls, {
      ...channelOptions,
      "grpc.ssl_target_name_override": caServerName,
      "grpc.default_authority": caServerName,
      "grpc.use_local_subchannel_pool": 1,
      // A ca that comes back is used at once, not after gRPC's two minutes.
      "grpc.initial_reconnect_backoff_ms": 100,
      "grpc.max_reconnect_backoff_ms": 2_000,
    });
  const plain = open(credentials.createSsl(roots));
  const named = open(credentials.createSsl(roots, key, chain));
  return {
    plain,
    named,
    // Calls under way end as they would have.
    [Symbol.dispose]: () => {
      plain.close();
      named.close();
    },
  };
}

/** What ca may see of the caller's headers: its tokens. A name that the caller gives itself counts for nothing. */
function handedOn({ metadata, remoteAddress }: Caller): Metadata {
  const headers = new Metadata();
  for (const value of metadata.get("authorization") ?? []) headers.add("authorization", value);
  for (const value of metadata.get("clusterid") ?? []) headers.add("clusterid", value);
  headers.set("x-forwarded-for", remoteAddress.replace(/:\d+$/, "").replace(/^\[(.*)\]$/, "$1"));
  return headers;
}

/** The words of ca as they are; what the channel says of itself stays here. */
function refusalOf(error: ServiceError | null): GrpcError {
  if (error === null) return new GrpcError(status.INTERNAL, "internal error");
  if (error.code === status.UNAVAILABLE) return new GrpcError(status.UNAVAILABLE, "ca does not answer");
  return new GrpcError(error.code, error.details);
}
