/**
 * The aggregated discovery service, in both forms, on a plaintext and a TLS port. A call becomes a stream when its caller is
 * proven, it was admitted and its first request carries a node that the caller may be.
 */

import { hash } from "node:crypto";
import { createServer } from "node:net";
import { type GrpcTlsOptions, serveGrpcTls, type TlsMaterial } from "@flotilla/auth/serving";
import { metadataText, type Proxy } from "@flotilla/model";
import { aggregatedDiscoveryService } from "@flotilla/proto";
import { GrpcError, grpcStatus, type Handler, type RawCall, RawGrpcServer } from "@flotilla/raw-grpc";
import { type LineBudgets, type ListenOptions, listen, refusedCallerLines } from "@flotilla/runtime";
import { Bodies, type Form, SharedStates } from "@flotilla/xds";
import type { StreamAuthentication } from "./authenticate.ts";
import type { ConnectedStreams } from "./connected-streams.ts";
import { RequestDecoder } from "./decode-request.ts";
import { handOffAll, longestDrainMs } from "./hand-off-all.ts";
import { MessageCache, writeDeadlines } from "./message-cache.ts";
import { SharedRecords } from "./progress.ts";
import { RejectionLog } from "./rejection-log.ts";
import type { ClientIdentity } from "./resource-source.ts";
import { Stream } from "./stream.ts";
import { refusalReason, StreamAdmission, type StreamAdmissionOptions } from "./stream-admission.ts";
import { type AdsLimits, connectionLimits, type StreamContext } from "./stream-context.ts";
import { streamEnd } from "./stream-end.ts";

export interface AdsOptions
  extends Omit<StreamContext, "cache" | "bodies" | "states" | "records" | "rejections" | "writes" | "limits">,
    Omit<StreamAdmissionOptions, "admission"> {
  readonly limits: StreamContext["limits"] & AdsLimits;
  /** Kept up to date with the streams of this server. */
  readonly connected: ConnectedStreams;
  /** Starts every nonce: unique among the processes a client may meet. */
  readonly noncePrefix: string;
  /** The server's name: the identifier that clients show of their control plane. */
  readonly server?: string;
  /** Other names of clusters that proxies may state as theirs. */
  readonly clusterAliases?: ReadonlyMap<string, string>;
  /** Returns the unreadable fields of the client's node metadata, which count as not set. */
  readonly unreadable?: (proxy: Proxy) => readonly { readonly field: string; readonly reason: string }[];
}

export interface AdsPort extends AsyncDisposable {
  readonly port: number;
}

export interface AdsTlsPort extends AdsPort {
  reload(material: TlsMaterial): void;
}

export class AdsServer implements AsyncDisposable {
  readonly #options: AdsOptions;
  readonly #context: StreamContext;
  readonly #admission: StreamAdmission;
  readonly #requests = new RequestDecoder();
  readonly #refusedLines: LineBudgets;
  readonly #connected: ConnectedStreams;
  readonly #sweeper: NodeJS.Timeout;
  #count = 0;

  constructor(options: AdsOptions) {
    const { limits, now, noncePrefix, server, metrics } = options;
    this.#options = options;
    this.#connected = options.connected;
    this.#refusedLines = refusedCallerLines(() => metrics.refusalUnlogged());
    const shared = {
      cache: new MessageCache({ maxBytes: limits.cacheBytes, now, noncePrefix, ...(server && { server }) }),
      states: new SharedStates((text) => hash("sha256", text)),
      ...{ bodies: new Bodies(), records: new SharedRecords() },
    };
    const rejections = new RejectionLog({ now, onUnlogged: () => metrics.rejectionUnlogged() });
    this.#context = { ...options, ...shared, rejections, writes: writeDeadlines(limits.stuckMs) };
    const { newStreamsPerSecond: perSecond, newStreamsBurst: burst, newStreamMaxWaitMs: maxWaitMs } = limits;
    this.#admission = new StreamAdmission({ ...options, admission: { perSecond, burst, maxWaitMs, now } });
    this.#sweeper = setInterval(() => this.dropUnshared(limits.cacheIdleMs), limits.cacheIdleMs).unref();
  }

  /** `further`: methods of other services on the same port. */
  async servePlaintext(
    at: ListenOptions,
    authentication?: StreamAuthentication,
    further: ReadonlyMap<string, Handler> = new Map(),
  ): Promise<AdsPort> {
    const port: Port = { authentication, isPlaintext: true, streams: new Set() };
    const listening = await servePlaintext({
      ...at,
      server: this.#server(port, further),
      drainMs: longestDrainMs(this.#options.limits),
    });
    return handingOff(listening, port.streams, this.#options.limits);
  }

  /** `further`: methods of other services on the same port. */
  async serveTls(
    at: Pick<GrpcTlsOptions, keyof ListenOptions | "material" | "dropped" | "policy">,
    authentication: StreamAuthentication | undefined,
    further: ReadonlyMap<string, Handler> = new Map(),
  ): Promise<AdsTlsPort> {
    const { log, limits } = this.#options;
    const port: Port = { authentication, isPlaintext: false, streams: new Set() };
    const drainMs = longestDrainMs(limits);
    const tls = await serveGrpcTls({ ...at, server: this.#server(port, further), log, drainMs });
    return { ...handingOff(tls, port.streams, limits), reload: (material) => tls.reload(material) };
  }

  /** Drops encoded messages and states of streams that were not shared for `idleMs`. */
  dropUnshared(idleMs: number): void {
    const { cache, states } = this.#context;
    cache.sweep(idleMs);
    states.sweep();
  }

  /** Ends every stream that is left. The ports are their owner's. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#admission.close();
    clearInterval(this.#sweeper);
    this.#connected.endAll();
  }

  #server(port: Port, further: ReadonlyMap<string, Handler> = new Map()): RawGrpcServer {
    const { streamAggregatedResources, deltaAggregatedResources } = aggregatedDiscoveryService;
    const handle = (form: Form) => (call: RawCall) => void this.#open(call, form, port);
    const methods = new Map([
      [streamAggregatedResources.path, handle("sotw")],
      [deltaAggregatedResources.path, handle("delta")],
      ...further,
    ]);
    const onIdleClosed = (): void => this.#options.metrics.closedIdle();
    return new RawGrpcServer({ ...connectionLimits(this.#options.limits), methods, onIdleClosed });
  }

  async #open(call: RawCall, form: Form, port: Port): Promise<void> {
    let stream: Stream | undefined;
    const fail = (error: unknown): void => {
      if (stream === undefined) this.#refuse(call, error);
      else this.#fail(stream, error);
    };
    try {
      const proven = await this.#admission.admit(call, port.authentication);
      if (call.isClosed) return;
      call.listen({
        onMessage: (bytes) => {
          try {
            this.#options.metrics.received(bytes.length);
            const { request, node } = this.#requests.decode(form, bytes);
            const { isPlaintext } = port;
            stream ??= this.#start(form, { ...this.#admission.clientOf(node, proven), isPlaintext }, call, port);
            stream.receive(request);
          } catch (error) {
            fail(error);
          }
        },
        onCancelled: () => stream?.close("cancelled by the client"),
        onEnd: () => {
          stream?.close("ended by the client");
          call.end({ code: grpcStatus.ok, details: "" });
        },
        onUnreadable: fail,
      });
    } catch (error) {
      fail(error);
    }
  }

  #start(form: Form, client: ClientIdentity, call: RawCall, port: Port): Stream {
    const { metrics, log } = this.#options;
    const id = `${client.proxy.id}-${++this.#count}`;
    const version = metadataText(client.proxy.metadata, "ISTIO_VERSION") || "unknown";
    const onClosed = (reason: string): void => {
      this.#connected.remove(id);
      port.streams.delete(stream);
      metrics.connected(version, -1);
      log.info("disconnected", { stream: id, reason });
    };
    const stream = new Stream({ id, form, client, wire: call, onClosed }, this.#context);
    this.#connected.add({ stream, call });
    port.streams.add(stream);
    metrics.connected(version, 1);
    log.info("connected", { stream: id, form, peer: call.peer });
    this.#reportUnreadable(id, client.proxy);
    return stream;
  }

  #reportUnreadable(stream: string, proxy: Proxy): void {
    const { unreadable, metrics, log } = this.#options;
    const problems = unreadable?.(proxy) ?? [];
    if (problems.length === 0) return;
    metrics.unreadableConfig();
    const fields = problems.map(({ field, reason }) => `${field}: ${reason}`);
    log.warn("unreadable fields of the proxy's own ProxyConfig count as not set", { stream, fields });
  }

  #refuse(call: RawCall, error: unknown): void {
    const { log, metrics } = this.#options;
    const { peer } = call;
    const reason = error instanceof GrpcError ? error : streamEnd.internal();
    if (!(error instanceof GrpcError)) log.error("stream failed", { peer, error });
    metrics.refused(refusalReason(reason));
    this.#refusedLines.write(call.host, (more) =>
      log.info("stream refused", { peer, code: reason.code, reason: reason.message, ...more }),
    );
    call.end(reason);
  }

  #fail(stream: Stream, error: unknown): void {
    const reason = error instanceof GrpcError ? error : streamEnd.internal();
    this.#options.log.error("stream failed", { stream: stream.record.id, error });
    this.#options.metrics.refused(reason.reason ?? "request");
    stream.end(reason);
  }
}

interface Port {
  readonly authentication: StreamAuthentication | undefined;
  readonly isPlaintext: boolean;
  readonly streams: Set<Stream>;
}

/**
 * Takes no new connections and announces the end of those that are open (GOAWAY), so that clients connect elsewhere; then ends the streams one
 * after the other.
 */
function handingOff(port: AdsPort, streams: ReadonlySet<Stream>, limits: AdsLimits): AdsPort {
  return {
    port: port.port,
    [Symbol.asyncDispose]: async () => {
      const closed = port[Symbol.asyncDispose]();
      await handOffAll(streams, { ...limits, random: Math.random });
      await closed;
    },
  };
}

/** A listening port without TLS. */
export interface PlaintextPort extends AsyncDisposable {
  readonly port: number;
}

export interface PlaintextOptions extends ListenOptions {
  readonly server: RawGrpcServer;
  /** How long calls may go on after the end was asked for. */
  readonly drainMs: number;
}

/** @throws RuntimeError PORT_IN_USE, PORT_REFUSED */
export async function servePlaintext({ server, drainMs, ...at }: PlaintextOptions): Promise<PlaintextPort> {
  const injector = server.createConnectionInjector();
  const listener = createServer((socket) => {
    socket.setNoDelay(true);
    // A connection that breaks is the end of its streams, which they learn by themselves.
    socket.on("error", () => socket.destroy());
    injector.injectConnection(socket);
  });
  const port = await listen(listener, at);
  return {
    port,
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise<void>((resolve) => listener.close(() => resolve()));
      injector.drain(drainMs);
      await closed;
      injector.destroy();
    },
  };
}
