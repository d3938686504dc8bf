/** Questions to the pages of a running service. */
import { CliError, type CliErrorCode } from "./errors.ts";
import { healthUrlOf } from "./running.ts";

/** Where the control plane is: the options of `connection` in `definitions/option-groups.ts`. */
export interface Connection {
  readonly workDir: string;
  /** `URL` for the service that is asked, or `SERVICE=URL`. */
  readonly url: readonly string[];
}

const codes: Readonly<Record<number, CliErrorCode>> = { 400: "CLI_USAGE", 403: "CLI_REFUSED", 404: "CLI_ABSENT" };

/** Address of a service's pages. @throws CliError CLI_NOT_RUNNING */
export function pagesUrl(service: string, { url, workDir }: Connection): string {
  const own = url.find((given) => given.startsWith(`${service}=`))?.slice(service.length + 1);
  const given = own ?? url.find((one) => /^https?:/.test(one));
  return given?.replace(/\/$/, "") ?? healthUrlOf(service, workDir);
}

/** The JSON of a page. @throws CliError CLI_NOT_RUNNING; CLI_ABSENT, CLI_USAGE, CLI_FAILED with the reason of the service */
export async function ask<Answer>(
  service: string,
  connection: Connection,
  path: string,
  query: Readonly<Record<string, string | undefined>> = {},
): Promise<Answer> {
  const base = pagesUrl(service, connection);
  const known = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const response = await fetch(`${base}${path}?${new URLSearchParams(known)}`).catch((cause: unknown) => {
    throw new CliError("CLI_NOT_RUNNING", `${service} does not answer at ${base}`, { cause });
  });
  if (response.ok) return (await response.json()) as Answer;
  throw new CliError(codes[response.status] ?? "CLI_FAILED", errorOf(await response.text()));
}

function errorOf(text: string): string {
  try {
    const { error } = JSON.parse(text) as { readonly error?: unknown };
    if (typeof error === "string") return error;
  } catch {
    // Not JSON: the text itself is the reason.
  }
  return text.trim();
}
