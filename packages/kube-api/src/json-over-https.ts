/** Requests to an OpenID Connect provider. Secrets go there: it must be HTTPS. */
import { request } from "node:https";

interface From {
  /** Whom to trust instead of the machine's own list. */
  readonly ca: string | undefined;
}
interface Form extends From {
  readonly form: Readonly<Record<string, string>>;
  /** The client, in the header (RFC 6749, 2.3.1). */
  readonly basic?: { readonly id: string; readonly secret: string };
}

const answerMs = 30_000;
const maxAnswerBytes = 1024 * 1024;

/** All of them @throws Error that names the address and the reason */
export function readJson<T>(url: string, { ca }: From): Promise<T> {
  return exchange(url, ca, {});
}

/**
 * Posts a form and parses the JSON of the answer. Rejects for a URL that is not HTTPS and for a status other than 200.
 */
export function postForm<T>(url: string, { ca, form, basic }: Form): Promise<T> {
  const client = basic && Buffer.from([basic.id, basic.secret].map(encodeURIComponent).join(":")).toString("base64");
  const headers = {
    "content-type": "application/x-www-form-urlencoded",
    ...(client !== undefined && { authorization: `Basic ${client}` }),
  };
  return exchange(url, ca, headers, new URLSearchParams(form).toString());
}

async function exchange<T>(url: string, ca: string | undefined, headers: object, body?: string): Promise<T> {
  if (URL.parse(url)?.protocol !== "https:") throw new Error(`${url} is no https URL`);
  const method = body === undefined ? "GET" : "POST";
  const options = {
    method,
    ca,
    headers: { accept: "application/json", ...headers },
    signal: AbortSignal.timeout(answerMs),
  };
  try {
    const { promise, resolve, reject } = Promise.withResolvers<{ readonly status: number; readonly text: string }>();
    const sent = request(url, options, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
        if (text.length > maxAnswerBytes) response.destroy(new Error(`answers more than ${maxAnswerBytes} bytes`));
      });
      response.once("end", () => resolve({ status: response.statusCode ?? 0, text })).once("error", reject);
    });
    sent.once("error", reject).end(body);
    const { status, text } = await promise;
    if (status !== 200) throw new Error(`${status} ${text.slice(0, 200)}`);
    return JSON.parse(text) as T;
  } catch (cause) {
    throw new Error(`${method} ${url}: ${(cause as Error).message}`, { cause });
  }
}
