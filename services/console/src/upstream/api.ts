/** The API of config-controller, with the caller's own token: objects are validated, written and deleted there. */
import { readFile } from "node:fs/promises";
import type { Cause } from "@flotilla/console/contract";
import { type HttpsAnswer, sendJson } from "@flotilla/http";
import { codeOf, RequestRefused } from "../errors.ts";
import type { Services } from "./services.ts";

export interface Api {
  /** @throws RequestRefused with the causes of the API */
  call<T>(token: string, method: "GET" | "POST" | "DELETE", path: string, body?: unknown): Promise<T>;
}

export interface ApiOptions {
  readonly services: Services;
  /** Asked of config-controller's pages where it is undefined. */
  readonly url: string | undefined;
  readonly rootFile: string;
  readonly timeoutMs: number;
}

interface Refusal {
  readonly message?: string;
  readonly details?: { readonly causes?: readonly { readonly field: string; readonly message: string }[] };
}

export function createApi({ services, url, rootFile, timeoutMs }: ApiOptions): Api {
  return {
    call: async <T>(token: string, method: "GET" | "POST" | "DELETE", path: string, body?: unknown) => {
      const server = url ?? (await findApi(services, token));
      const ca = await readFile(rootFile, "utf8").catch(() => {
        throw new RequestRefused("away", `the root of the control plane cannot be read from ${rootFile}`);
      });
      const { status, text } = await sendJson(new URL(path, server), { method, token, ca, body, timeoutMs }).catch(
        (error: unknown): HttpsAnswer => {
          const reason = error instanceof Error ? error.message : String(error);
          throw new RequestRefused("away", `the API of config-controller does not answer: ${reason}`);
        },
      );
      const answer = parse(text);
      if (status >= 200 && status < 300) return answer as T;
      const { message = `the API answers ${status}`, details } = answer as Refusal;
      const causes = details?.causes?.map(causeOf);
      const isInvalid = (causes?.length ?? 0) > 0 || status === 422;
      throw new RequestRefused(isInvalid ? "invalid" : codeOf(status), message, causes);
    },
  };
}

async function findApi(services: Services, token: string): Promise<string> {
  const answer = await services.first<{ readonly url: string | null; readonly service?: string }>("config-controller", {
    path: "/debug/api",
    token,
  });
  if (!answer.isAnswered && answer.status === undefined)
    throw new RequestRefused("away", `config-controller does not answer: ${answer.away.message}`);
  if (answer.isAnswered && answer.value.url !== null) return answer.value.url;
  throw new RequestRefused(
    "not-found",
    "config-controller serves no API here: where a cluster owns the objects, they are written by kubectl",
  );
}

/** `items[2].spec.http` → the place among the documents, and the field within. */
function causeOf({ field, message }: { readonly field: string; readonly message: string }): Cause {
  const found = /^items\[(\d+)\]\.?(.*)$/.exec(field);
  if (found === null) return { field, message };
  return { item: Number(found[1]), field: found[2] ?? "", message };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new RequestRefused("upstream", `the API answers what is no JSON: ${text.slice(0, 200)}`);
  }
}
