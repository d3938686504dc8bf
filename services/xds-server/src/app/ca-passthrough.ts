/**
 * The CA's service on the secure port: each request goes on to ca as it came, so that a client needs one address only. A
 * caller's token is passed on unchanged, over a channel that shows no certificate; a caller's client certificate is sent to ca over a
 * channel that shows ours, and judged there again. Neither channel can give an unproven caller our identity.
 */
import { type Authenticator, type Caller, formatXfcc } from "@flotilla/auth";
import { callerOf, type TlsMaterial } from "@flotilla/auth/serving";
import { certificateService, channelOptions } from "@flotilla/proto";
import { GrpcError, type Handler, type RawCall, unary } from "@flotilla/raw-grpc";
import { type Counter, delay, type Logger, type Metrics } from "@flotilla/runtime";
import { Client, credentials, Metadata, type ServiceError, status } from "@grpc/grpc-js";

export interface PassthroughOptions {
  /** `host:port` of ca. */
  readonly caAddress: string;
  readonly caServerName: string;
  readonly material: TlsMaterial;
  /** Proves callers by their client certificate. */
  readonly certificates: Authenticator;
  readonly metrics: Metrics;
  readonly log: Logger;
  /** How long a request is kept while ca is away. */
  readonly holdMs?: number;
}

export interface CaPassthrough extends Disposable {
  readonly methods: ReadonlyMap<string, Handler>;
  /** Our certificate or the root that ca's leads to has changed. */
  reload(material: TlsMaterial): void;
}

/** A little longer than clients wait by themselves. */
const deadlineMs = 30_000;
/** While ca is away a request is kept for this long before it fails, and is tried again in between. */
const heldMs = 5_000;
const retryMs = 250;
/** Requests that may be kept; more fail at once. */
const maxHeld = 1_000;
const raw = (bytes: Buffer): Buffer => bytes;

export function createCaPassthrough(options: PassthroughOptions): CaPassthrough {
  const { certificates, log, holdMs = heldMs } = options;
  const channels = new RenewedChannels(options);
  const noteAnswer = answerNotes(options);
  let held = 0;
  /** Until ca answers, or the time of a kept request is over. */
  const sendUntilAnswered = async (
    kind: keyof Channels,
    request: Buffer,
    metadata: Metadata,
    cancelled: AbortSignal,
  ) => {
    const until = performance.now() + holdMs;
    for (;;) {
      const answer = await send(channels.current[kind], request, { metadata, cancelled, noteAnswer });
      if (Buffer.isBuffer(answer)) return answer;
      const isOver = performance.now() + retryMs > until || held >= maxHeld || cancelled.aborted;
      if (answer?.code !== status.UNAVAILABLE || isOver) throw refusalOf(answer);
      held++;
      await delay(retryMs, cancelled);
      held--;
      channels.renew();
    }
  };
  const forward = async (request: Buffer, call: RawCall, cancelled: AbortSignal): Promise<Buffer> => {
    const caller = callerOf(call);
    const verdict = await certificates.authenticate(caller);
    const metadata = handedOn(caller);
    const { peerCertificate } = caller;
    const isNamed = verdict.authenticated && peerCertificate !== undefined;
    if (isNamed) metadata.set("x-forwarded-client-cert", formatXfcc(peerCertificate, verdict.identities));
    return sendUntilAnswered(isNamed ? "named" : "plain", request, metadata, cancelled);
  };
  const onFailure = (error: unknown): void => log.error("certificate request failed", { error });
  return {
    methods: new Map([[certificateService.createCertificate.path, unary(forward, onFailure)]]),
    reload: (material) => channels.reload(material),
    [Symbol.dispose]: () => channels[Symbol.dispose](),
  };
}

type AnswerNote = (error: ServiceError | null) => void;

export function declareForwarded(metrics: Pick<Metrics, "counter">): Counter<"code"> {
  return metrics.counter({
    name: "flotilla_ca_requests_forwarded_total",
    help: "Certificate requests passed on to ca, by the answer of ca",
    labels: ["code"],
  });
}

/** Counts what ca answers; logs when it stops answering, and when it answers again. */
function answerNotes(options: PassthroughOptions): AnswerNote {
  const { caAddress, log } = options;
  const forwarded = declareForwarded(options.metrics);
  let isAway = false;
  return (error) => {
    forwarded.add(1, { code: status[error?.code ?? status.OK] ?? "UNKNOWN" });
    if (isAway === (error?.code === status.UNAVAILABLE)) return;
    isAway = !isAway;
    if (isAway) log.warn("ca unreachable", { ca: caAddress, reason: error?.details });
    else log.info("ca reachable again", { ca: caAddress });
  };
}

interface Sending {
  readonly metadata: Metadata;
  readonly cancelled: AbortSignal;
  readonly noteAnswer: AnswerNote;
}

/** One attempt. */
function send(client: Client, request: Buffer, { metadata, cancelled, noteAnswer }: Sending) {
  const { path } = certificateService.createCertificate;
  const { promise, resolve } = Promise.withResolvers<Buffer | ServiceError | null>();
  const deadline = Date.now() + deadlineMs;
  const asked = client.makeUnaryRequest(path, raw, raw, request, metadata, { deadline }, (error, response) => {
    noteAnswer(error);
    resolve(response ?? error);
  });
  const cancel = (): void => asked.cancel();
  cancelled.addEventListener("abort", cancel, { once: true });
  return promise.finally(() => cancelled.removeEventListener("abort", cancel));
}

/** On a port without TLS, as in istiod: no token that was sent in clear gets a certificate. */
export const refusedCertificates: ReadonlyMap<string, Handler> = new Map([
  [
    certificateService.createCertificate.path,
    (call) => call.end({ code: status.UNAUTHENTICATED, details: "request authenticate failure" }),
  ],
]);

interface Channels {
  /** Shows no certificate. */
  readonly plain: Client;
  /** Shows ours. */
  readonly named: Client;
}

/** Channels to ca. A failed one is replaced rather than waited for: gRPC's own back-off may outlast the outage. */
class RenewedChannels implements Disposable {
  readonly #options: PassthroughOptions;
  #material: TlsMaterial;
  #openedAtMs = performance.now();
  current: Channels;

  constructor(options: PassthroughOptions) {
    this.#options = options;
    this.#material = options.material;
    this.current = openChannels(options, options.material);
  }

  reload(material: TlsMaterial): void {
    this.#material = material;
    this.#replace();
  }

  /** After a failure; no more than one attempt a second. */
  renew(): void {
    if (performance.now() - this.#openedAtMs >= 1_000) this.#replace();
  }

  [Symbol.dispose](): void {
    close(this.current);
  }

  #replace(): void {
    const before = this.current;
    this.current = openChannels(this.#options, this.#material);
    this.#openedAtMs = performance.now();
    close(before);
  }
}

function openChannels({ caAddress, caServerName }: PassthroughOptions, material: TlsMaterial): Channels {
  const [roots, key, chain] = [material.rootsPem, material.keyPem, material.chainPem].map((pem) => Buffer.from(pem));
  const open = (tls: ReturnType<typeof credentials.createSsl>): Client =>
    new Client(caAddress, tls, {
      ...channelOptions,
      "grpc.ssl_target_name_override": caServerName,
      "grpc.default_authority": caServerName,
      "grpc.use_local_subchannel_pool": 1,
      "grpc.initial_reconnect_backoff_ms": 100,
      "grpc.max_reconnect_backoff_ms": 1_000,
    });
  return { plain: open(credentials.createSsl(roots)), named: open(credentials.createSsl(roots, key, chain)) };
}

/** Calls under way end as they would have. */
function close({ plain, named }: Channels): void {
  plain.close();
  named.close();
}

/** Headers of the caller that ca may see: its tokens. A name that the caller gives itself counts for nothing. */
function handedOn({ metadata, remoteAddress }: Caller): Metadata {
  const headers = new Metadata();
  for (const value of metadata.get("authorization") ?? []) headers.add("authorization", value);
  for (const value of metadata.get("clusterid") ?? []) headers.add("clusterid", value);
  headers.set("x-forwarded-for", remoteAddress.replace(/:\d+$/, "").replace(/^\[(.*)\]$/, "$1"));
  return headers;
}

/** The message of ca as it is; errors of the channel itself stay here. */
function refusalOf(error: ServiceError | null): GrpcError {
  if (error === null) return new GrpcError(status.INTERNAL, "internal error");
  if (error.code === status.UNAVAILABLE) return new GrpcError(status.UNAVAILABLE, "ca unreachable");
  return new GrpcError(error.code, error.details);
}
