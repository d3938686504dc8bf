/** `flotilla ca status | rotate | abort`: the replacement of the root, and what holds it up. */
import { parseArgs } from "node:util";
import type { Command } from "../command.ts";
import { CliError } from "../errors.ts";
import { defaultWorkDir } from "../options.ts";
import { healthUrlOf } from "../running.ts";

interface Status {
  readonly phase: string;
  readonly id: string;
  readonly phaseSinceMs: number;
  readonly clearSinceMs?: number;
  readonly roots?: { readonly old: string; readonly next: string };
  readonly without: readonly string[];
  readonly last?: { readonly id: string; readonly outcome: string; readonly atMs: number };
  readonly holdups: readonly { readonly name: string; readonly reason: string }[];
  readonly certificates: number;
  readonly proxies: number;
  readonly replicas: readonly unknown[];
}

const sentences: Readonly<Record<string, string>> = {
  idle: "no rotation is running",
  trusting: "proxies are brought to trust the new root; certificates are still of the old one",
  issuing: "certificates are of the new root; those of the old one are waited for",
  reverting: "certificates are of the old root again; those of the new one are waited for",
  finishing: "the old root is given up",
};

export const ca: Command = async (args, env) => {
  const { values, positionals } = parseCommand(args, env);
  const [action] = positionals;
  const base = values.url ?? healthUrlOf("ca", values["work-dir"]);
  const without = (values.without ?? []).map((name) => `&without=${encodeURIComponent(name)}`).join("");
  switch (action) {
    case "status":
      return show(await ask(`${base}/debug/rotation`, "GET"), values.json);
    case "rotate":
      return show(await ask(`${base}/debug/rotation?action=rotate${without}`, "POST"), values.json);
    case "abort":
      return show(await ask(`${base}/debug/rotation?action=abort`, "POST"), values.json);
    default:
      throw new CliError("CLI_USAGE", "ca needs one of: status, rotate [--without NAME…], abort");
  }
};

function parseCommand(args: readonly string[], env: NodeJS.ProcessEnv) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        "work-dir": { type: "string", default: defaultWorkDir(env) },
        url: { type: "string" },
        without: { type: "string", multiple: true },
        json: { type: "boolean", default: false },
      },
    });
  } catch (cause) {
    throw new CliError("CLI_USAGE", (cause as Error).message, { cause });
  }
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

function show(status: Status, isJson: boolean): number {
  process.stdout.write(isJson ? `${JSON.stringify(status, undefined, 2)}\n` : `${describe(status)}\n`);
  return 0;
}

function describe({ phase, id, phaseSinceMs, roots, without, last, holdups, ...counts }: Status): string {
  const since = phase === "idle" ? "" : `, since ${new Date(phaseSinceMs).toISOString()}`;
  const lines = [`${phase}: ${sentences[phase] ?? ""}${since}`];
  if (roots !== undefined) lines.push(`rotation ${id}: root ${roots.old} → ${roots.next}`);
  if (without.length > 0) lines.push(`goes on without: ${without.join("; ")}`);
  if (last !== undefined) lines.push(`last rotation ${last.id}: ${last.outcome} ${new Date(last.atMs).toISOString()}`);
  const { certificates, proxies, replicas } = counts;
  lines.push(`${certificates} certificates on record, ${proxies} proxies connected, ${replicas.length} replicas of ca`);
  if (holdups.length > 0) lines.push(`held up by ${holdups.length}:`);
  lines.push(...holdups.map(({ name, reason }) => `  ${name}: ${reason}`));
  return lines.join("\n");
}
