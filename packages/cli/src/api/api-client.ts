/** Speaks to the API of config-controller, with a token of the local issuer unless another is given. */
import { readFileSync } from "node:fs";
import { openLocalIssuer } from "@flotilla/auth";
import { sendJson } from "@flotilla/runtime";
import { ask, type Connection, givenApiUrl, isOwnHost, pagesUrls } from "../connection.ts";
import { CliError } from "../errors.ts";
import { paths } from "../layout.ts";
import { describe, type Manifest } from "./manifests.ts";

/** The options of `apiConnection` in `definitions/option-groups.ts`. */
interface ApiConnection extends Connection {
  readonly server?: string | undefined;
  readonly tokenFile?: string | undefined;
  readonly rootFile?: string | undefined;
}

export interface ApiClient {
  /** @throws ApiRefusal; CliError CLI_NOT_RUNNING */
  call<T>(method: string, path: string, body?: unknown, contentType?: string): Promise<T>;
}

/** The API's answer to a request that it refuses. */
export class ApiRefusal extends CliError {
  readonly status: number;
  readonly causes: readonly { readonly field: string; readonly message: string }[];

  constructor(status: number, message: string, causes: ApiRefusal["causes"]) {
    super("CLI_REFUSED", message);
    this.status = status;
    this.causes = causes;
  }
}

/** The account of `apply` and its like; config-controller lets it write by default. */
const account = { namespace: "istio-system", serviceAccount: "flotilla-admin", audience: "flotilla-api" };
const tokenTtlMs = 300_000;
const timeoutMs = 30_000;

/** @throws CliError CLI_NOT_RUNNING */
export async function openApi(connection: ApiConnection): Promise<ApiClient> {
  const { workDir, tokenFile, rootFile = paths({ workDir }).root } = connection;
  const server = connection.server ?? givenApiUrl(connection) ?? (await findApi(connection));
  const token =
    tokenFile === undefined
      ? await (await openLocalIssuer(workDir)).mintToken({ ...account, ttlMs: tokenTtlMs })
      : readFileSync(tokenFile, "utf8").trim();
  const ca = readFileSync(rootFile, "utf8");
  return {
    call: async <T>(method: string, path: string, body?: unknown, contentType = "application/json") => {
      const url = new URL(path, server);
      const { status, text } = await sendJson(url, { method, token, ca, contentType, body, timeoutMs }).catch(
        (cause: Error) => {
          throw new CliError("CLI_NOT_RUNNING", `${url.origin} does not answer: ${cause.message}`, { cause });
        },
      );
      const answer = parseAnswer(status, text);
      if (status >= 200 && status < 300) return answer as T;
      const { message, details } = answer as {
        readonly message?: string;
        readonly details?: { readonly causes?: ApiRefusal["causes"] };
      };
      throw new ApiRefusal(status, message ?? `status ${status}`, details?.causes ?? []);
    },
  };
}

async function findApi(connection: Connection): Promise<string> {
  interface Page {
    readonly url?: string | null;
    /** Its name on other hosts. */
    readonly service?: string;
  }
  const { url, service } = await ask<Page>("config-controller", connection, "/debug/api").catch((error: unknown) => {
    // There is no such page where the API is not served.
    if (error instanceof CliError && error.code === "CLI_ABSENT") return { url: null, service: "" };
    throw error;
  });
  const [pages] = pagesUrls("config-controller", connection);
  if (typeof url === "string") return isOwnHost(pages) ? url : `https://${service}:${new URL(url).port}`;
  throw new CliError(
    "CLI_NOT_RUNNING",
    "config-controller serves no API, or not yet: see API_PORT and its readiness page; in a cluster objects are written by kubectl",
  );
}

function parseAnswer(status: number, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new CliError("CLI_REFUSED", `an answer with status ${status} is not JSON: ${text.slice(0, 200)}`, { cause });
  }
}

/** Objects of kinds that mean nothing to the mesh, such as Deployments. */
export interface IgnoredKind {
  readonly apiVersion: string;
  readonly kind: string;
  readonly count: number;
}

/** Text of the API's remarks on the items of a list, reported with the places of the items in files. One line for each kind. */
export function ignoredText({ apiVersion, kind, count }: IgnoredKind): string {
  return `${count} ${kind} (${apiVersion}) ignored: not configuration of the mesh`;
}

/** Rethrows a refusal with one line for each cause. */
export async function withPlaces<T>(manifests: readonly Manifest[], work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ApiRefusal) || error.causes.length === 0) throw error;
    const lines = error.causes.map(({ field, message }) => placed(manifests, field, message));
    throw new CliError("CLI_REFUSED", `nothing was changed\n${lines.join("\n")}`, { cause: error });
  }
}

function placed(manifests: readonly Manifest[], field: string, message: string): string {
  const found = /^items\[(\d+)\](?:\.(.*))?$/.exec(field);
  const manifest = manifests[Number(found?.[1] ?? Number.NaN)];
  if (manifest === undefined) return `  ${field}: ${message}`;
  const within = found?.[2] === undefined ? "" : ` ${found[2]}`;
  return `  ${manifest.place} ${describe(manifest)}:${within} ${message}`;
}
