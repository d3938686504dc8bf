/** An xDS client over any transport: keeps a stream open, answers every message, reconnects with what it has. */
import type { Node } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import type { Form } from "../plan.ts";
import type { ClientRequest } from "../request.ts";
import { type ClientOptions, ClientState } from "./client-state.ts";
import { type ClientResponse, type NameReader, readResponse, writeRequest } from "./response.ts";

export interface ClientStream {
  send(request: Uint8Array): void;
  /** Ends when the server ends the stream well; throws when it fails. */
  readonly responses: AsyncIterable<Uint8Array>;
  close(): void;
}

export interface ClientTransport {
  open(form: Form): ClientStream;
}

export interface XdsClientOptions extends ClientOptions {
  readonly transport: ClientTransport;
  readonly node: Node;
  /** The wait before each reconnect. */
  readonly backoffMs: (failures: number) => number;
  /** For messages whose name is not in their first field. */
  readonly nameOf?: NameReader;
  /** Before a response is taken, which waits for it: work for `check` and `refusals` that is not done in one step. */
  readonly prepare?: (response: ClientResponse) => Promise<void> | undefined;
  /** Before an answer: a server that sends what was refused again and again is slowed down so. */
  readonly holdAnswerMs?: (answer: ClientRequest) => number;
  readonly onConnection?: (event: "opened" | "ended", error?: unknown) => void;
}

export class XdsClient {
  readonly state: ClientState;
  readonly #options: XdsClientOptions;
  #stream: ClientStream | undefined;
  #isFirst = true;

  constructor(options: XdsClientOptions) {
    this.#options = options;
    this.state = new ClientState(options);
  }

  subscribe(typeUrl: string, names?: readonly string[]): void {
    this.#send(this.state.subscribe(typeUrl, names));
  }

  unsubscribe(typeUrl: string, names: readonly string[]): void {
    this.#send(this.state.unsubscribe(typeUrl, names));
  }

  /** Ends the present stream; `run` opens another one. */
  disconnect(): void {
    this.#stream?.close();
  }

  /** Until `stop` fires. */
  async run(stop: AbortSignal): Promise<void> {
    let failures = 0;
    while (!stop.aborted) {
      const before = performance.now();
      const error = await this.#serve(stop);
      if (stop.aborted) return;
      failures = performance.now() - before > 1_000 ? 0 : failures + 1;
      this.#options.onConnection?.("ended", error);
      await pause(this.#options.backoffMs(failures), stop);
    }
  }

  async #serve(stop: AbortSignal): Promise<unknown> {
    const { transport, onConnection, nameOf, prepare } = this.#options;
    const ended = new AbortController();
    let stream: ClientStream | undefined;
    const close = () => stream?.close();
    stop.addEventListener("abort", close, { once: true });
    try {
      stream = transport.open(this.state.form);
      this.#stream = stream;
      this.#isFirst = true;
      for (const request of this.state.connected()) this.#send(request);
      onConnection?.("opened");
      for await (const bytes of stream.responses) {
        const response = readResponse(this.state.form, bytes, nameOf);
        const preparing = prepare?.(response);
        if (preparing !== undefined) await preparing;
        // The stream may have ended meanwhile: the next one is sent everything that is not taken.
        if (stop.aborted) break;
        this.#answer(this.state.receive(response), ended.signal);
      }
      return undefined;
    } catch (error) {
      // The caller of `run` learns it by onConnection; a lost stream is no failure of the client.
      return error;
    } finally {
      stop.removeEventListener("abort", close);
      ended.abort();
      this.#stream = undefined;
      stream?.close();
    }
  }

  #answer(request: ClientRequest, ended: AbortSignal): void {
    const holdMs = this.#options.holdAnswerMs?.(request) ?? 0;
    if (holdMs === 0) {
      this.#send(request);
      return;
    }
    void pause(holdMs, ended).then(() => {
      if (!ended.aborted) this.#send(request);
    });
  }

  #send(request: ClientRequest): void {
    if (this.#stream === undefined) return;
    this.#stream.send(writeRequest(request, this.#isFirst ? this.#options.node : undefined));
    this.#isFirst = false;
  }
}

function pause(ms: number, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      stop.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    stop.addEventListener("abort", done, { once: true });
  });
}
