/** Requests for single objects as JSON, over connections that are kept. */
import { type ClientRequest, type IncomingMessage, request as plainRequest } from "node:http";
import { Agent, request } from "node:https";
import { timeLimit } from "@flotilla/runtime";
import type { KubeCredentials } from "./credentials.ts";
import { KubeError } from "./errors.ts";
import type { KubeConfig } from "./kube-config.ts";
import { missingRight } from "./missing-right.ts";

/** Any object of the Kubernetes API, with the metadata that every kind has. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: {
    readonly name?: string;
    readonly generateName?: string;
    readonly namespace?: string;
    readonly uid?: string;
    readonly resourceVersion?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
  };
}

/** All of them @throws KubeError KUBE_AWAY, KUBE_CONFIG; KUBE_REFUSED with the server's sentence. */
export interface KubeApi extends Disposable {
  readonly server: string;
  /** Undefined when there is none. */
  get<T = KubeObject>(path: string, stop?: AbortSignal): Promise<T | undefined>;
  /** The metadata alone, of however large an object. Undefined when there is none. */
  metadata(path: string): Promise<KubeObject | undefined>;
  /**
   * Identifies the kinds that the server serves, as long as they are the same; undefined where the server gives no such tag. With the tag
   * that is known the server answers without a list.
   */
  kindsTag(known?: string): Promise<string | undefined>;
  /** @throws KubeError KUBE_CONFLICT when it is there already */
  create<T = KubeObject>(path: string, object: unknown): Promise<T>;
  /** @throws KubeError KUBE_CONFLICT when its resourceVersion is not the last one */
  replace<T = KubeObject>(path: string, object: unknown): Promise<T>;
  /** Server-side apply; `force` takes fields that others own. @throws KubeError KUBE_CONFLICT when others own one */
  apply<T = KubeObject>(path: string, object: unknown, options: ApplyOptions): Promise<T>;
  /** False when there was none. @throws KubeError KUBE_CONFLICT when that version is not the last one */
  delete(path: string, options?: { readonly resourceVersion?: string }): Promise<boolean>;
  /** Lines of JSON as they come, until the server or `stop` ends it. `onOpen` is called when the server has begun to answer. */
  lines(path: string, stop: AbortSignal, onOpen?: () => void): AsyncIterable<unknown>;
  /** Lines of text as they come, such as those of a pod's log, until the server or `stop` ends it. */
  textLines(path: string, stop: AbortSignal): AsyncIterable<string>;
}

interface ApplyOptions {
  /** The owner of the fields that are applied. */
  readonly fieldManager: string;
  readonly force: boolean;
}

const metadataOnly = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
/** Kinds of all groups in one list, which has an ETag since Kubernetes 1.27; older servers answer with names of groups. */
const allKinds = ["v2", "v2beta1"]
  .map((version) => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`)
  .concat("application/json")
  .join(",");
const answerMs = 30_000;
const maxAnswerBytes = 64 * 1024 * 1024;

/** Opens an API server's client; it connects with the first request. Disposing of it closes the connections. */
export function openKubeApi(config: KubeConfig, { requestsAtOnce = 8 } = {}): KubeApi {
  const agent = new Agent({ keepAlive: true, maxSockets: requestsAtOnce });
  // A watch keeps its connection for minutes: it must not take one from the requests, or from another watch.
  const watching = new Agent();
  const call = <T>(method: string, path: string, body?: unknown, stop?: AbortSignal): Promise<T> =>
    answer<T>(config, agent, { method, path, body }, stop);
  return {
    server: config.server,
    get: <T>(path: string, stop?: AbortSignal) => absent(call<T>("GET", path, undefined, stop)),
    metadata: (path) => absent(answer<KubeObject>(config, agent, { method: "GET", path, accept: metadataOnly })),
    kindsTag: (known) => kindsTag(config, agent, known),
    create: (path, object) => call("POST", path, object),
    replace: (path, object) => call("PUT", path, object),
    apply: (path, body, { fieldManager, force }) => {
      const query = new URLSearchParams({ fieldManager, force: String(force) });
      // JSON is YAML.
      const contentType = "application/apply-patch+yaml";
      return answer(config, agent, { method: "PATCH", path: `${path}?${query}`, body, contentType });
    },
    delete: async (path, { resourceVersion } = {}) => {
      const body = resourceVersion === undefined ? undefined : { preconditions: { resourceVersion } };
      return (await absent(call("DELETE", path, body))) !== undefined;
    },
    lines: (path, stop, onOpen) => parsed(config, path, lines(config, watching, path, stop, onOpen)),
    textLines: (path, stop) => lines(config, watching, path, stop),
    [Symbol.dispose]: () => {
      agent.destroy();
      watching.destroy();
    },
  };
}

interface Call {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly accept?: string;
  readonly contentType?: string;
  /** An ETag. */
  readonly ifNoneMatch?: string | undefined;
}

async function absent<T>(promise: Promise<T>): Promise<T | undefined> {
  try {
    return await promise;
  } catch (error) {
    if (error instanceof KubeError && error.status === 404) return undefined;
    throw error;
  }
}

async function answer<T>(config: KubeConfig, agent: Agent, call: Call, stop?: AbortSignal): Promise<T> {
  using limit = timeLimit(answerMs, stop);
  const response = await send(config, agent, call, limit.signal);
  try {
    const text = await readAll(response);
    const status = response.statusCode ?? 0;
    if (status >= 200 && status < 300) return JSON.parse(text) as T;
    throw refusal(call, status, text);
  } catch (cause) {
    if (cause instanceof KubeError) throw cause;
    throw away(config, call, cause);
  }
}

async function kindsTag(config: KubeConfig, agent: Agent, known?: string): Promise<string | undefined> {
  using limit = timeLimit(answerMs);
  const call = { method: "GET", path: "/apis", accept: allKinds, ifNoneMatch: known };
  const response = await send(config, agent, call, limit.signal);
  try {
    await readAll(response);
  } catch (cause) {
    throw cause instanceof KubeError ? cause : away(config, call, cause);
  }
  // A caller that is refused the tag may be given the lists.
  return response.statusCode === 304 ? known : response.statusCode === 200 ? response.headers.etag : undefined;
}

async function* parsed(config: KubeConfig, path: string, texts: AsyncIterable<string>): AsyncGenerator<unknown> {
  for await (const text of texts) {
    let line: unknown;
    try {
      line = JSON.parse(text);
    } catch (cause) {
      throw away(config, { method: "GET", path }, cause);
    }
    yield line;
  }
}

async function* lines(
  config: KubeConfig,
  agent: Agent,
  path: string,
  stop: AbortSignal,
  onOpen?: () => void,
): AsyncGenerator<string> {
  const call = { method: "GET", path };
  const response = await send(config, agent, call, stop);
  if (response.statusCode !== 200) throw refusal(call, response.statusCode ?? 0, await readAll(response));
  onOpen?.();
  // The parts of a line that has not ended: joined once, however long it is.
  let begun: string[] = [];
  let length = 0;
  try {
    for await (const chunk of response.setEncoding("utf8")) {
      const [end = "", ...next] = String(chunk).split("\n");
      begun.push(end);
      length += end.length;
      for (const beginning of next) {
        const line = begun.join("");
        [begun, length] = [[beginning], beginning.length];
        if (line !== "") yield line;
      }
      if (length > maxAnswerBytes) throw new Error(`a line is longer than ${maxAnswerBytes} characters`);
    }
  } catch (cause) {
    if (!stop.aborted) throw away(config, call, cause);
  } finally {
    response.destroy();
  }
}

async function send(config: KubeConfig, agent: Agent, call: Call, stop: AbortSignal): Promise<IncomingMessage> {
  const credentials = await config.credentials();
  const { ca, cert, key, servername, impersonate, isInsecure = false } = credentials;
  const authorization = authorizationOf(credentials);
  // The server may have a path of its own, behind which a proxy has many clusters.
  const url = new URL(config.server + call.path);
  const payload = call.body === undefined ? undefined : JSON.stringify(call.body);
  const headers = {
    accept: call.accept ?? "application/json",
    ...(call.ifNoneMatch !== undefined && { "if-none-match": call.ifNoneMatch }),
    ...(authorization !== undefined && { authorization }),
    ...(impersonate !== undefined && { "impersonate-user": impersonate }),
    ...(payload !== undefined && {
      "content-type": call.contentType ?? "application/json",
      "content-length": Buffer.byteLength(payload),
    }),
  };
  const common = { method: call.method, headers, signal: stop };
  const tls = { ca, cert, key, servername, rejectUnauthorized: !isInsecure };
  const proxied = await config.agent?.(credentials);
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const sent: ClientRequest =
    url.protocol === "http:"
      ? plainRequest(url, { ...common, agent: proxied }, resolve)
      : request(url, { ...common, ...tls, agent: proxied ?? agent }, resolve);
  sent.once("error", (cause) => reject(away(config, call, cause)));
  sent.end(payload);
  const response = await promise;
  if (response.statusCode === 401) config.onRefused?.();
  return response;
}

function authorizationOf({ token, username, password = "" }: KubeCredentials): string | undefined {
  if (token !== undefined) return `Bearer ${token}`;
  return username === undefined ? undefined : `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
}

async function readAll(response: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) {
    text += String(chunk);
    if (text.length > maxAnswerBytes)
      throw new KubeError("KUBE_REFUSED", `an answer is larger than ${maxAnswerBytes} bytes`);
  }
  return text;
}

function refusal({ method, path }: Call, status: number, text: string): KubeError {
  const code = status === 409 ? "KUBE_CONFLICT" : status === 429 || status >= 500 ? "KUBE_AWAY" : "KUBE_REFUSED";
  const message = messageOf(text);
  const right = status === 403 ? missingRight(message) : undefined;
  const advice = right === undefined ? "" : `; ${right}`;
  return new KubeError(code, `${method} ${path}: ${status} ${message}${advice}`, { status });
}

/** The API server answers with a Status; a proxy in front of it may answer with anything. */
function messageOf(text: string): string {
  try {
    const { message } = JSON.parse(text) as { readonly message?: unknown };
    if (typeof message === "string") return message;
  } catch {
    // Not JSON: shown as it is.
  }
  return text.slice(0, 200);
}

function away({ server }: KubeConfig, { method, path }: Call, cause: unknown): KubeError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new KubeError("KUBE_AWAY", `${method} ${path} at ${server}: ${why}`, { cause });
}
