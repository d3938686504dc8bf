/** Asks a Consul agent over its HTTP API; the connections are kept and shared. */
import { readFile } from "node:fs/promises";
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { timeLimit } from "@flotilla/runtime";
import { ConsulError } from "./errors.ts";

/** Address, token and TLS of an agent. */
export interface ConsulClientOptions {
  /** `http://host:port` or `https://host:port`. */
  readonly url: string;
  readonly token?: string | undefined;
  /** Read anew for each question, so that a rotated token holds at once. Wins over `token`. */
  readonly tokenFile?: string | undefined;
  /** PEM of the authorities that the agent's certificate is checked with; those of the system without. */
  readonly certificateAuthorities?: string | undefined;
}

/** A path of the agent's HTTP API with its parameters. */
export interface ConsulQuestion {
  /** Such as `/v1/catalog/services`. */
  readonly path: string;
  readonly parameters?: Readonly<Record<string, string>>;
  /** The answer waits until something is newer than this; 0 or absent: it comes at once. */
  readonly index?: number;
  readonly waitMs?: number;
}

/** The parsed JSON of an answer, and the index for the next blocking query. */
export interface ConsulAnswer {
  readonly body: unknown;
  /** 0 when the agent reports none. */
  readonly index: number;
}

/** Consul adds up to a sixteenth to the wait by itself; then the line is taken for dead. */
const graceMs = 10_000;
const plainTimeoutMs = 30_000;
const longestAnswerBytes = 64 * 1024 * 1024;

/** Connections to one agent, reused between questions; disposing of it closes them. */
export class ConsulClient implements Disposable {
  readonly #options: ConsulClientOptions;
  readonly #agent: HttpAgent | HttpsAgent;
  readonly #isSecure: boolean;

  constructor(options: ConsulClientOptions) {
    this.#options = options;
    this.#isSecure = new URL(options.url).protocol === "https:";
    const { certificateAuthorities: ca } = options;
    this.#agent = this.#isSecure
      ? new HttpsAgent({ keepAlive: true, ...(ca === undefined ? {} : { ca }) })
      : new HttpAgent({ keepAlive: true });
  }

  /** @throws ConsulError; the reason of `stop` */
  async ask(question: ConsulQuestion, stop: AbortSignal): Promise<ConsulAnswer> {
    const { path, parameters = {}, index = 0, waitMs = 0 } = question;
    const url = new URL(path, this.#options.url);
    for (const [name, value] of Object.entries(parameters)) if (value !== "") url.searchParams.set(name, value);
    if (index > 0) {
      url.searchParams.set("index", String(index));
      url.searchParams.set("wait", `${Math.ceil(waitMs / 1000)}s`);
    }
    const withinMs = index > 0 ? Math.ceil(waitMs * (1 + 1 / 16)) + graceMs : plainTimeoutMs;
    const token = await this.#token();
    using limit = timeLimit(withinMs, stop);
    const { signal } = limit;
    let answer: { readonly response: IncomingMessage; readonly text: string };
    try {
      answer = await this.#send(url, token, signal);
    } catch (cause) {
      stop.throwIfAborted();
      if (cause instanceof ConsulError) throw cause;
      const reason = signal.aborted ? `no answer within ${withinMs} ms` : reasonOf(cause);
      throw new ConsulError("CONSUL_UNREACHABLE", `${url.origin}${path}: ${reason}`, { cause });
    }
    const { response, text } = answer;
    if (response.statusCode !== 200) {
      const shown = text.trim().slice(0, 200);
      throw new ConsulError("CONSUL_REFUSED", `${url.origin}${path}: status ${response.statusCode}: ${shown}`);
    }
    return { body: parse(text, `${url.origin}${path}`), index: Number(response.headers["x-consul-index"] ?? 0) || 0 };
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }

  async #token(): Promise<string | undefined> {
    const { token, tokenFile } = this.#options;
    if (tokenFile === undefined) return token;
    try {
      return (await readFile(tokenFile, "utf8")).trim();
    } catch (cause) {
      throw new ConsulError("CONSUL_REFUSED", `the token file ${tokenFile} cannot be read: ${reasonOf(cause)}`, {
        cause,
      });
    }
  }

  #send(
    url: URL,
    token: string | undefined,
    signal: AbortSignal,
  ): Promise<{ response: IncomingMessage; text: string }> {
    const headers = token === undefined ? {} : { "x-consul-token": token };
    const send = this.#isSecure ? requestHttps : requestHttp;
    return new Promise((resolve, reject) => {
      const request = send(url, { agent: this.#agent, headers, signal }, (response) => {
        const chunks: Buffer[] = [];
        let bytes = 0;
        response.on("data", (chunk: Buffer) => {
          bytes += chunk.length;
          chunks.push(chunk);
          if (bytes > longestAnswerBytes)
            request.destroy(new ConsulError("CONSUL_ANSWER", `${url.pathname}: more than ${longestAnswerBytes} bytes`));
        });
        response.on("end", () => resolve({ response, text: Buffer.concat(chunks).toString("utf8") }));
        response.on("error", reject);
      });
      request.on("error", reject);
      request.end();
    });
  }
}

function parse(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ConsulError("CONSUL_ANSWER", `${what}: the answer is no JSON`, { cause });
  }
}

/** Node reports a refused connection to several addresses as one error without a message. */
function reasonOf(cause: unknown): string {
  const { message = "", code = "" } = cause as { readonly message?: string; readonly code?: string };
  return message || code || String(cause);
}
