/** `flotilla diff GENERATION GENERATION`: what differs in the configuration between two generations. */
import { parseArgs } from "node:util";
import { ask } from "../ask.ts";
import type { Command } from "../command.ts";
import { CliError } from "../errors.ts";
import { defaultWorkDir } from "../options.ts";

/** What `/debug/diff` of config-controller answers. */
interface Diff {
  readonly from: number;
  readonly to: number;
  readonly objects: readonly {
    readonly object: string;
    readonly op: "created" | "changed" | "deleted";
    readonly withheld?: string;
    readonly differences?: readonly { readonly path: string; readonly before?: unknown; readonly after?: unknown }[];
  }[];
}

export const diffGenerations: Command = async (args, env) => {
  const { values, positionals } = parseCommand(args, env);
  const [from, to] = positionals;
  if (from === undefined || to === undefined)
    throw new CliError("CLI_USAGE", "diff needs two generations, as `flotilla history` lists them");
  const told = await ask<Diff>("config-controller", values, "/debug/diff", { from, to });
  process.stdout.write(`${values.json ? JSON.stringify(told, undefined, 2) : describeDiff(told)}\n`);
  return 0;
};

export function describeDiff({ from, to, objects }: Diff): string {
  if (objects.length === 0) return `nothing differs between ${from} and ${to}`;
  const lines = objects.flatMap(({ object, op, withheld, differences = [] }) => [
    `${op} ${object}${withheld === undefined ? "" : ` (not shown: ${withheld})`}`,
    ...differences.map(({ path, before, after }) => `    ${path}: ${valueText(before)} → ${valueText(after)}`),
  ]);
  return lines.join("\n");
}

function valueText(value: unknown): string {
  return value === undefined ? "nothing" : JSON.stringify(value);
}

function parseCommand(args: readonly string[], env: NodeJS.ProcessEnv) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        "work-dir": { type: "string", default: defaultWorkDir(env) },
        url: { type: "string" },
        json: { type: "boolean", default: false },
      },
    });
  } catch (cause) {
    throw new CliError("CLI_USAGE", (cause as Error).message, { cause });
  }
}
