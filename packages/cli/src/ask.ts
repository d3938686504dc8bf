/** Questions to a running service's pages. */
import { CliError } from "./errors.ts";
import { healthUrlOf } from "./running.ts";

export interface Asked {
  /** Where the service answers; found by the work directory when absent. */
  readonly url?: string | undefined;
  readonly "work-dir": string;
}

/** The JSON of a page. @throws CliError CLI_NOT_RUNNING; CLI_REFUSED, CLI_ABSENT with the service's words */
export async function ask<Answer>(
  service: string,
  { url, "work-dir": workDir }: Asked,
  path: string,
  query: Readonly<Record<string, string | undefined>> = {},
): Promise<Answer> {
  const base = url ?? healthUrlOf(service, workDir);
  const known = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const response = await fetch(`${base}${path}?${new URLSearchParams(known)}`).catch((cause: unknown) => {
    throw new CliError("CLI_NOT_RUNNING", `${service} does not answer at ${base}`, { cause });
  });
  if (response.ok) return (await response.json()) as Answer;
  throw new CliError(response.status === 404 ? "CLI_ABSENT" : "CLI_REFUSED", errorOf(await response.text()));
}

function errorOf(text: string): string {
  try {
    const { error } = JSON.parse(text) as { readonly error?: unknown };
    if (typeof error === "string") return error;
  } catch {
    // Not JSON: told as it is.
  }
  return text.trim();
}
