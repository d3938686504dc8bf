/** `flotilla ca status | rotate | abort`: the replacement of the root, and what holds it up. */
import { type Connection, pagesUrls } from "../connection.ts";
import type { caAbort as abort, caRotate as rotate, caStatus as status } from "../definitions/identity.ts";
import { CliError } from "../errors.ts";
import { type Format, formatOf, render } from "../output.ts";
import type { Run } from "../parse/definition.ts";
import type { Terminal } from "../parse/terminal.ts";

interface Status {
  readonly phase: string;
  /** One sentence. */
  readonly meaning?: string;
  readonly id: string;
  readonly phaseSinceMs: number;
  readonly clearSinceMs?: number;
  readonly roots?: { readonly old: string; readonly next: string };
  readonly without: readonly string[];
  readonly last?: { readonly id: string; readonly outcome: string; readonly atMs: number };
  readonly holdups: readonly Holdup[];
  readonly certificates: number;
  readonly proxies: number;
  readonly replicas: readonly unknown[];
}

interface Holdup {
  readonly name: string;
  readonly reason: string;
  readonly isConnected?: boolean;
}

export const caStatus: Run<typeof status> = ({ options, terminal }) => show(options, terminal, "GET", "");

export const caRotate: Run<typeof rotate> = ({ options, terminal }) => {
  const without = options.without.map((name) => `&without=${encodeURIComponent(name)}`).join("");
  return show(options, terminal, "POST", `?action=rotate${without}`);
};

export const caAbort: Run<typeof abort> = ({ options, terminal }) => show(options, terminal, "POST", "?action=abort");

type Options = Connection & { readonly output: Format; readonly json: boolean };

async function show(options: Options, terminal: Terminal, method: "GET" | "POST", query: string): Promise<0> {
  const [base] = pagesUrls("ca", options);
  const answer = await ask(`${base}/debug/rotation${query}`, method);
  terminal.print(render(formatOf(options), answer, describe));
  return 0;
}

async function ask(url: string, method: "GET" | "POST"): Promise<Status> {
  let response: Response;
  try {
    response = await fetch(url, { method, signal: AbortSignal.timeout(15_000) });
  } catch (cause) {
    throw new CliError("CLI_NOT_RUNNING", `ca does not answer at ${new URL(url).origin}`, { cause });
  }
  const answer = (await response.json()) as Status & { readonly error?: string };
  if (!response.ok) throw new CliError("CLI_REFUSED", answer.error ?? `ca answers ${response.status}`);
  return answer;
}

function describe({ phase, meaning = "", id, phaseSinceMs, roots, without, last, holdups, ...counts }: Status): string {
  const since = phase === "idle" ? "" : `, since ${new Date(phaseSinceMs).toISOString()}`;
  const lines = [`${phase}: ${meaning}${since}`];
  if (roots !== undefined) lines.push(`rotation ${id}: root ${roots.old} → ${roots.next}`);
  if (without.length > 0) lines.push(`goes on without: ${without.join("; ")}`);
  if (last !== undefined) lines.push(`last rotation ${last.id}: ${last.outcome} ${new Date(last.atMs).toISOString()}`);
  const { certificates, proxies, replicas } = counts;
  lines.push(`${certificates} certificates on record, ${proxies} proxies connected, ${replicas.length} replicas of ca`);
  lines.push(...holdupLines(holdups));
  return lines.join("\n");
}

/** The name stands alone, as `--without` takes it. */
function holdupLines(holdups: readonly Holdup[]): readonly string[] {
  if (holdups.length === 0) return [];
  const away = holdups.filter(({ isConnected }) => isConnected === false).length;
  return [
    `waits for ${holdups.length}, ${away} of which are not connected:`,
    ...holdups.map(({ name, reason }) => `  ${name}  ${reason}`),
    "to go on without one that is gone: flotilla ca rotate --without NAME; without all that are not connected: --without disconnected",
  ];
}
