/**
 * How a call becomes a stream: its caller is proven, it is admitted, and its first request carries a node that the caller may be.
 * The status that the call ends with names the step that failed.
 */
import { callerOf } from "@flotilla/auth/serving";
import { NodeError, type Proxy } from "@flotilla/model";
import type { Node } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import type { GrpcError, RawCall } from "@flotilla/raw-grpc";
import { delay, type Logger, refusedCallerLines } from "@flotilla/runtime";
import { status } from "@grpc/grpc-js";
import {
  anonymous,
  authenticate,
  checkApiCaller,
  checkNodeIdentity,
  type Proven,
  type StreamAuthentication,
} from "./authenticate.ts";
import { NodeReader } from "./decode-request.ts";
import type { ClientIdentity } from "./resource-source.ts";
import { streamEnd } from "./stream-end.ts";
import type { RefusalReason } from "./stream-metrics.ts";

export interface StreamAdmissionOptions {
  /** For callers who have proven who they are, and once more for those who have not: neither uses up what the others have. */
  readonly admission: AdmissionOptions;
  /** Before the first complete snapshot streams are turned away. */
  readonly isReady: () => boolean;
  /** The namespace whose identities may ask for configuration as such; undefined: no identity is asked for. */
  readonly apiNamespace?: () => string | undefined;
  /** Other names of clusters that proxies may state as theirs. */
  readonly clusterAliases?: ReadonlyMap<string, string>;
  readonly log: Logger;
}

export class StreamAdmission {
  readonly #options: StreamAdmissionOptions;
  readonly #proven: Admission;
  readonly #anonymous: Admission;
  readonly #nodes: NodeReader;
  /** Each is counted as a refused stream. */
  readonly #refusedLines = refusedCallerLines();
  #isClosed = false;

  constructor(options: StreamAdmissionOptions) {
    this.#options = options;
    this.#nodes = new NodeReader(options.clusterAliases);
    this.#proven = new Admission(options.admission);
    this.#anonymous = new Admission(options.admission);
  }

  /** No stream is admitted any more. */
  close(): void {
    this.#isClosed = true;
  }

  /** May keep the call waiting for its turn. @throws GrpcError */
  async admit(call: RawCall, authentication: StreamAuthentication | undefined): Promise<Proven> {
    const { isReady, log } = this.#options;
    if (this.#isClosed) throw streamEnd.shutdown();
    if (!isReady()) throw streamEnd.notReady();
    // First: callers without a proof where it is required take no other stream's place.
    const onRefused = (reason: string): void =>
      this.#refusedLines.write(call.host, (more) =>
        log.warn("caller not authenticated", { peer: call.peer, reason, ...more }),
      );
    const proven =
      authentication === undefined ? anonymous : await authenticate(callerOf(call), authentication, onRefused);
    const waitMs = (proven.identities.length > 0 ? this.#proven : this.#anonymous).reserve();
    if (waitMs === undefined) throw streamEnd.tooMany();
    if (waitMs > 0) await delay(waitMs);
    return proven;
  }

  /** `node`: of the first request. @throws GrpcError */
  clientOf(node: Node | undefined, proven: Proven): Omit<ClientIdentity, "isPlaintext"> {
    if (node === undefined) throw streamEnd.invalid("the first request of a stream must carry a node");
    const proxy = this.#read(node);
    checkNodeIdentity(proven, proxy);
    const apiNamespace = this.#options.apiNamespace?.();
    if (apiNamespace !== undefined) checkApiCaller(proven, proxy, apiNamespace);
    return { proxy, identities: proven.identities };
  }

  #read(node: Node): Proxy {
    try {
      return this.#nodes.read(node);
    } catch (error) {
      if (error instanceof NodeError) throw streamEnd.invalid(error.message);
      throw error;
    }
  }
}

const refusals: ReadonlyMap<number, RefusalReason> = new Map([
  [status.UNAVAILABLE, "not_ready"],
  [status.RESOURCE_EXHAUSTED, "rate"],
  [status.UNAUTHENTICATED, "unauthenticated"],
  [status.PERMISSION_DENIED, "denied"],
]);

/** As it is counted. */
export function refusalReason({ reason, code }: GrpcError): RefusalReason {
  return reason ?? refusals.get(code) ?? "node";
}

/** A token bucket for new streams: a herd is spread over time, and what would wait too long is turned away. Pure but for its clock. */
export interface AdmissionOptions {
  readonly perSecond: number;
  readonly burst: number;
  /** Turned away rather than kept waiting for longer. */
  readonly maxWaitMs: number;
  readonly now: () => number;
}

export class Admission {
  readonly #options: AdmissionOptions;
  #tokens: number;
  #filledAt: number;

  constructor(options: AdmissionOptions) {
    this.#options = options;
    this.#tokens = options.burst;
    this.#filledAt = options.now();
  }

  /** How many milliseconds the stream has to wait; undefined: it is turned away. */
  reserve(): number | undefined {
    const { perSecond, burst, maxWaitMs, now } = this.#options;
    const at = now();
    this.#tokens = Math.min(burst, this.#tokens + ((at - this.#filledAt) * perSecond) / 1000);
    this.#filledAt = at;
    const waitMs = this.#tokens >= 1 ? 0 : ((1 - this.#tokens) * 1000) / perSecond;
    if (waitMs > maxWaitMs) return undefined;
    this.#tokens--;
    return waitMs;
  }
}
