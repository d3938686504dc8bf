/** Calls of the server's API: JSON in and out, with failures as values that a screen can show. */
import type { Cause, ErrorAnswer } from "../../contract/index.ts";

/** Why an answer is missing. */
export interface Problem {
  /**
   * `signed-out`: no session or an expired one; `away`: the server or the service behind it gave no answer; `missing`: there is no such thing; `refused`:
   * the request is not allowed or not valid; `failed`: anything else.
   */
  readonly kind: "signed-out" | "away" | "missing" | "refused" | "failed";
  readonly message: string;
  /** HTTP status; 0 when nothing answered. */
  readonly status: number;
  /** Each field that is wrong, of a request with an object. */
  readonly causes: readonly Cause[];
}

export type Answer<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: Problem };

export interface CallOptions {
  readonly method?: "GET" | "POST" | "PUT" | "DELETE";
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly stop?: AbortSignal;
}

/** Calls a path of this server. Types are those of the contract: the server is the same release. */
export type FetchJson = <T>(path: string, options?: CallOptions) => Promise<Answer<T>>;

/** A `FetchJson` by a `fetch`; cookies go to the same origin only. */
export function createFetchJson(fetchOf: typeof fetch): FetchJson {
  return async <T>(path: string, { method = "GET", body, stop }: CallOptions = {}): Promise<Answer<T>> => {
    const init: RequestInit = { method, credentials: "same-origin", cache: "no-store", redirect: "error" };
    if (stop !== undefined) init.signal = stop;
    if (body !== undefined) {
      init.body = JSON.stringify(body);
      init.headers = { "content-type": "application/json" };
    }
    let response: Response;
    try {
      response = await fetchOf(path, init);
    } catch (error) {
      if (stop?.aborted) throw error;
      return failure("away", "the console's server gives no answer", 0);
    }
    const content = await readBody(response);
    if (response.ok) return { ok: true, value: content as T };
    return failureOf(content, response);
  };
}

async function readBody(response: Response): Promise<unknown> {
  const text = await response.text();
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function kindOf(status: number): Problem["kind"] {
  if (status === 401) return "signed-out";
  if (status === 404) return "missing";
  if (status === 502 || status === 503 || status === 504) return "away";
  return status >= 400 && status < 500 ? "refused" : "failed";
}

/** The error of the contract; a proxy in between may answer in a form of its own. */
function failureOf(content: unknown, { status, statusText }: Response): Answer<never> {
  if (isErrorAnswer(content)) return failure(kindOf(status), content.error.message, status, content.error.causes);
  const isText = typeof content === "string" && content.length < 500;
  return failure(
    kindOf(status),
    isText ? content.trim() : `the server answered ${status} ${statusText}`.trim(),
    status,
  );
}

function isErrorAnswer(content: unknown): content is ErrorAnswer {
  if (typeof content !== "object" || content === null || !("error" in content)) return false;
  const { error } = content;
  return typeof error === "object" && error !== null && "message" in error && typeof error.message === "string";
}

function failure(kind: Problem["kind"], message: string, status: number, causes: readonly Cause[] = []): Answer<never> {
  return { ok: false, problem: { kind, message, status, causes } };
}
