/** A request to the API of config-controller, whose certificate is of the control plane's own root: fetch takes no root. */
import { request } from "node:https";

/** A status and the whole text of the body. */
export interface HttpsAnswer {
  readonly status: number;
  readonly text: string;
}

/** Sent as JSON where there is a body. */
export interface HttpsQuestion {
  readonly method: string;
  readonly token: string;
  /** Roots that the server's certificate is checked against, as PEM. */
  readonly ca: string;
  readonly body?: unknown;
  /** `application/json` unless given. */
  readonly contentType?: string;
  /** For the whole answer, in milliseconds. */
  readonly timeoutMs: number;
}

/** Rejects with the error of the connection, or a TimeoutError. */
export async function sendJson(
  url: URL,
  { method, token, ca, body, contentType = "application/json", timeoutMs }: HttpsQuestion,
): Promise<HttpsAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<HttpsAnswer>();
  const payload = body === undefined ? undefined : JSON.stringify(body);
  const headers = {
    authorization: `Bearer ${token}`,
    accept: "application/json",
    ...(payload !== undefined && { "content-type": contentType, "content-length": Buffer.byteLength(payload) }),
  };
  const sent = request(url, { method, ca, headers, signal: AbortSignal.timeout(timeoutMs) }, async (response) => {
    try {
      let text = "";
      for await (const chunk of response.setEncoding("utf8")) text += String(chunk);
      resolve({ status: response.statusCode ?? 0, text });
    } catch (error) {
      reject(error);
    }
  });
  sent.once("error", reject);
  sent.end(payload);
  return promise;
}
