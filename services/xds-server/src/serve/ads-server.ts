/**
 * The aggregated discovery service, in both forms, on a plaintext and a TLS port. A call becomes a stream when it was
 * admitted, its caller is proven and its first request carries a node that the caller may be.
 */
import type { TLSSocket } from "node:tls";
import { callerOf, serveGrpcTls, type TlsMaterial } from "@flotilla/auth/serving";
import { metadataText, NodeError } from "@flotilla/model";
import { aggregatedDiscoveryService } from "@flotilla/proto";
import { delay, type ListenOptions } from "@flotilla/runtime";
import { Bodies, type Form, Interner, type NameSet } from "@flotilla/xds";
import { Server, type ServerOptions, type ServiceDefinition, type UntypedServiceImplementation } from "@grpc/grpc-js";
import { Admission } from "./admission.ts";
import {
  anonymous,
  authenticate,
  checkApiCaller,
  checkNodeIdentity,
  type StreamAuthentication,
} from "./authenticate.ts";
import { callWire, type RawCall } from "./call-wire.ts";
import { type Connections, SocketsByPeer, servePlaintext } from "./connections.ts";
import { decodeRequest } from "./decode-request.ts";
import { Ebb } from "./ebb.ts";
import { MessageCache } from "./message-cache.ts";
import { NodeReader } from "./node.ts";
import type { ClientIdentity } from "./resource-source.ts";
import { Stream } from "./stream.ts";
import type { StreamContext, Wire } from "./stream-context.ts";
import { StreamError, streamEnd } from "./stream-error.ts";
import type { RefusalReason } from "./stream-metrics.ts";
import type { StreamRecord } from "./stream-record.ts";

export interface AdsLimits {
  readonly newStreamsPerSecond: number;
  readonly newStreamsBurst: number;
  readonly newStreamMaxWaitMs: number;
  readonly maxRequestBytes: number;
  readonly maxStreamsPerConnection: number;
  readonly keepaliveMs: number;
  readonly keepaliveTimeoutMs: number;
  /** A connection is told to go after this, give or take a tenth; undefined: never. */
  readonly maxConnectionAgeMs: number | undefined;
  readonly maxConnectionAgeGraceMs: number;
  readonly drainMs: number;
  readonly cacheBytes: number;
  readonly cacheIdleMs: number;
}

export const defaultAdsLimits: AdsLimits = {
  newStreamsPerSecond: 500,
  newStreamsBurst: 500,
  newStreamMaxWaitMs: 5_000,
  maxRequestBytes: 4 * 1024 * 1024,
  maxStreamsPerConnection: 100_000,
  keepaliveMs: 30_000,
  keepaliveTimeoutMs: 10_000,
  maxConnectionAgeMs: undefined,
  maxConnectionAgeGraceMs: 10_000,
  drainMs: 2_000,
  cacheBytes: 64 * 1024 * 1024,
  cacheIdleMs: 10_000,
};

const ebb = { quietMs: 3_000, minHeight: 50 } as const;

export interface AdsOptions extends Omit<StreamContext, "cache" | "bodies" | "names" | "limits"> {
  readonly limits: StreamContext["limits"] & AdsLimits;
  /** Before the first complete snapshot streams are turned away. */
  readonly isReady: () => boolean;
  /** Starts every nonce: unique among the processes a client may meet. */
  readonly noncePrefix: string;
  /** Most streams have left and their messages are dropped: memory may be given back. */
  readonly onEbb?: () => void;
  /** The namespace whose identities may ask for configuration as such; undefined: nobody is asked. */
  readonly apiNamespace?: () => string | undefined;
  /** Who answers: the identifier that clients show of their control plane. */
  readonly server?: string;
}

export interface AdsPort extends AsyncDisposable {
  readonly port: number;
}

export interface AdsTlsPort extends AdsPort {
  reload(material: TlsMaterial): void;
}

/** A service that shares the port. */
export interface FurtherService {
  readonly definition: ServiceDefinition;
  readonly implementation: UntypedServiceImplementation;
}

export class AdsServer implements AsyncDisposable {
  readonly #options: AdsOptions;
  readonly #context: StreamContext;
  readonly #admission: Admission;
  readonly #nodes = new NodeReader();
  readonly #streams = new Map<string, { readonly stream: Stream; readonly port: Port }>();
  readonly #sweeper: NodeJS.Timeout;
  readonly #ebb: Ebb;
  #count = 0;
  #isClosing = false;

  constructor(options: AdsOptions) {
    const { limits, now, noncePrefix, server } = options;
    this.#options = options;
    const cache = new MessageCache({ maxBytes: limits.cacheBytes, now, noncePrefix, ...(server && { server }) });
    this.#context = { ...options, cache, bodies: new Bodies(), names: new Interner<NameSet>() };
    const { newStreamsPerSecond: perSecond, newStreamsBurst: burst, newStreamMaxWaitMs: maxWaitMs } = limits;
    this.#admission = new Admission({ perSecond, burst, maxWaitMs, now });
    this.#sweeper = setInterval(() => cache.sweep(limits.cacheIdleMs), limits.cacheIdleMs).unref();
    const onEbb = (): void => {
      cache.sweep(ebb.quietMs);
      options.onEbb?.();
    };
    this.#ebb = new Ebb({ ...ebb, onEbb });
  }

  /** Connected streams, as debug pages and the fleet's state show them. */
  streams(): readonly StreamRecord[] {
    return [...this.#streams.values()].map(({ stream }) => stream.record);
  }

  /** Asks the client to connect again, here or elsewhere; false when there is no such stream. */
  disconnect(streamId: string): boolean {
    const entry = this.#streams.get(streamId);
    if (entry === undefined) return false;
    entry.stream.end(streamEnd.moved());
    setTimeout(() => closeIdle(entry.port, entry.stream.record.peer), leaveMs).unref();
    return true;
  }

  async servePlaintext(at: ListenOptions, authentication?: StreamAuthentication): Promise<AdsPort> {
    let connections: Connections | undefined;
    const streams = new Set<Stream>();
    const port = { authentication, streams, destroy: (peer: string) => connections?.destroy(peer) };
    const server = this.#server(port, []);
    connections = await servePlaintext({ ...at, server, drainMs: this.#options.limits.drainMs });
    return endingFirst(connections, streams);
  }

  async serveTls(
    at: ListenOptions & { readonly material: TlsMaterial },
    authentication: StreamAuthentication | undefined,
    further: readonly FurtherService[] = [],
  ): Promise<AdsTlsPort> {
    const { log, limits } = this.#options;
    const streams = new Set<Stream>();
    const sockets = new SocketsByPeer();
    const server = this.#server({ authentication, streams, destroy: (peer) => sockets.destroy(peer) }, further);
    const onConnection = (socket: TLSSocket): void => sockets.add(socket);
    const tls = await serveGrpcTls({ ...at, server, log, drainMs: limits.drainMs, onConnection });
    return { ...endingFirst(tls, streams), reload: (material) => tls.reload(material) };
  }

  /** Ends every stream that is left. The ports are their owner's. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosing = true;
    clearInterval(this.#sweeper);
    for (const { stream } of [...this.#streams.values()]) stream.end(streamEnd.shutdown());
    this.#ebb[Symbol.dispose]();
  }

  #server(port: Port, further: readonly FurtherService[]): Server {
    const server = new Server(serverOptions(this.#options.limits));
    const { streamAggregatedResources, deltaAggregatedResources } = aggregatedDiscoveryService;
    const raw = (bytes: Buffer): Buffer => bytes;
    const unread = { requestSerialize: raw, requestDeserialize: raw, responseSerialize: raw, responseDeserialize: raw };
    const handle = (form: Form) => (call: RawCall) => void this.#open(call, form, port);
    server.addService(
      {
        streamAggregatedResources: { ...streamAggregatedResources, ...unread },
        deltaAggregatedResources: { ...deltaAggregatedResources, ...unread },
      },
      { streamAggregatedResources: handle("sotw"), deltaAggregatedResources: handle("delta") },
    );
    for (const { definition, implementation } of further) server.addService(definition, implementation);
    return server;
  }

  async #open(call: RawCall, form: Form, port: Port): Promise<void> {
    const { log, metrics } = this.#options;
    const peer = call.getPeer();
    const wire = callWire(call, () => port.destroy(peer));
    // Without a listener a broken call would be an uncaught exception of the process.
    call.on("error", (error) => log.debug("stream broke", { peer, error: error.message }));
    const refuse = (error: unknown): void => {
      const reason = error instanceof StreamError ? error : streamEnd.internal();
      if (!(error instanceof StreamError)) log.error("stream failed", { peer, error });
      metrics.refused(reason.reason ?? refusalOf(reason));
      log.info("stream refused", { peer, code: reason.code, reason: reason.message });
      wire.end(reason);
    };
    try {
      const proven = await this.#admit(call, port.authentication);
      if (call.cancelled) return;
      let stream: Stream | undefined;
      call.on("data", (bytes: Buffer) => {
        try {
          const { maxRequestBytes } = this.#options.limits;
          if (bytes.length > maxRequestBytes) throw streamEnd.tooLarge(bytes.length, maxRequestBytes);
          const { request, node } = decodeRequest(form, bytes);
          if (stream === undefined) {
            if (node === undefined) throw streamEnd.invalid("the first request of a stream must carry a node");
            const proxy = readNode(this.#nodes, node);
            checkNodeIdentity(proven, proxy);
            const apiNamespace = this.#options.apiNamespace?.();
            if (apiNamespace !== undefined) checkApiCaller(proven, proxy, apiNamespace);
            stream = this.#start(form, { proxy, identities: proven.identities }, wire, port);
          }
          stream.receive(request);
        } catch (error) {
          if (stream === undefined) refuse(error);
          else this.#fail(stream, error);
        }
      });
      call.on("cancelled", () => stream?.close("cancelled by the client"));
      call.on("end", () => {
        stream?.close("ended by the client");
        call.end();
      });
    } catch (error) {
      refuse(error);
    }
  }

  async #admit(call: RawCall, authentication: StreamAuthentication | undefined) {
    const { isReady, log } = this.#options;
    if (this.#isClosing) throw streamEnd.shutdown();
    if (!isReady()) throw streamEnd.notReady();
    const waitMs = this.#admission.reserve();
    if (waitMs === undefined) throw streamEnd.tooMany();
    if (waitMs > 0) await delay(waitMs);
    if (authentication === undefined) return anonymous;
    return authenticate(callerOf(call), authentication, (reason) =>
      log.warn("caller not authenticated", { peer: call.getPeer(), reason }),
    );
  }

  #start(form: Form, client: ClientIdentity, wire: Wire, port: Port): Stream {
    const { metrics, log } = this.#options;
    const id = `${client.proxy.id}-${++this.#count}`;
    const version = metadataText(client.proxy.metadata, "ISTIO_VERSION") || "unknown";
    const onClosed = (reason: string): void => {
      this.#streams.delete(id);
      this.#ebb.count(this.#streams.size);
      port.streams.delete(stream);
      metrics.connected(version, -1);
      log.info("disconnected", { stream: id, reason });
    };
    const stream = new Stream({ id, form, client, wire, onClosed }, this.#context);
    this.#streams.set(id, { stream, port });
    this.#ebb.count(this.#streams.size);
    port.streams.add(stream);
    metrics.connected(version, 1);
    log.info("connected", { stream: id, form, peer: wire.peer });
    return stream;
  }

  #fail(stream: Stream, error: unknown): void {
    const reason = error instanceof StreamError ? error : streamEnd.internal();
    this.#options.log.error("stream failed", { stream: stream.record.id, error });
    this.#options.metrics.refused(reason.reason ?? "request");
    stream.end(reason);
  }
}

interface Port {
  readonly authentication: StreamAuthentication | undefined;
  readonly streams: Set<Stream>;
  /** Cuts the connection of a client that does not read. */
  readonly destroy: (peer: string) => void;
}

/** For the end of a stream to reach its client; before a client comes back, as clients wait for longer. */
const leaveMs = 100;

/** A client would open its next stream on the same connection, and so on the same replica. */
function closeIdle({ streams, destroy }: Port, peer: string): void {
  if (![...streams].some(({ record }) => record.peer === peer)) destroy(peer);
}

/** Its streams end with a status that tells the client to connect elsewhere, before the port is closed. */
function endingFirst(port: AdsPort, streams: ReadonlySet<Stream>): AdsPort {
  return {
    port: port.port,
    [Symbol.asyncDispose]: () => {
      for (const stream of [...streams]) stream.end(streamEnd.shutdown());
      return port[Symbol.asyncDispose]();
    },
  };
}

function readNode(nodes: NodeReader, node: Parameters<NodeReader["read"]>[0]) {
  try {
    return nodes.read(node);
  } catch (error) {
    if (error instanceof NodeError) throw streamEnd.invalid(error.message);
    throw error;
  }
}

function refusalOf(error: StreamError): RefusalReason {
  const byName: Readonly<Record<number, RefusalReason>> = {
    14: "not_ready",
    8: "rate",
    16: "unauthenticated",
    7: "denied",
  };
  return byName[error.code] ?? "node";
}

function serverOptions(limits: AdsLimits): ServerOptions {
  return {
    // What is over our own limit is refused by name and counted; this one bounds what is read for that.
    "grpc.max_receive_message_length": 2 * limits.maxRequestBytes,
    "grpc.max_send_message_length": -1,
    "grpc.max_concurrent_streams": limits.maxStreamsPerConnection,
    "grpc.keepalive_time_ms": limits.keepaliveMs,
    "grpc.keepalive_timeout_ms": limits.keepaliveTimeoutMs,
    ...(limits.maxConnectionAgeMs !== undefined && {
      "grpc.max_connection_age_ms": limits.maxConnectionAgeMs,
      "grpc.max_connection_age_grace_ms": limits.maxConnectionAgeGraceMs,
    }),
  };
}
