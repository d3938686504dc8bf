/** `flotilla history [KIND/NAME.NAMESPACE]`: the generations of the configuration, what each changed, who told it and when. */
import { parseArgs } from "node:util";
import { ask } from "../ask.ts";
import type { Command } from "../command.ts";
import { CliError } from "../errors.ts";
import { defaultWorkDir } from "../options.ts";

/** What `/debug/history` of config-controller answers. */
interface History {
  readonly generations: readonly {
    readonly generation: number;
    readonly at: string;
    readonly by: string;
    readonly changes: number;
    readonly objects: readonly { readonly object: string; readonly op: string }[];
  }[];
}

export const history: Command = async (args, env) => {
  const { values, positionals } = parseCommand(args, env);
  const [object] = positionals;
  const told = await ask<History>("config-controller", values, "/debug/history", { object, limit: values.limit });
  process.stdout.write(`${values.json ? JSON.stringify(told, undefined, 2) : describeHistory(told)}\n`);
  return 0;
};

export function describeHistory({ generations }: History): string {
  if (generations.length === 0) return "no generation is kept";
  const lines = generations.flatMap(({ generation, by, changes, objects }) => [
    `${generation}  ${by}`,
    ...objects.map(({ object, op }) => `    ${op} ${object}`),
    ...(changes > objects.length ? [`    and ${changes - objects.length} more`] : []),
    ...(changes === 0 ? ["    what is kept begins here"] : []),
  ]);
  return lines.join("\n");
}

function parseCommand(args: readonly string[], env: NodeJS.ProcessEnv) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        "work-dir": { type: "string", default: defaultWorkDir(env) },
        url: { type: "string" },
        limit: { type: "string", default: "50" },
        json: { type: "boolean", default: false },
      },
    });
  } catch (cause) {
    throw new CliError("CLI_USAGE", (cause as Error).message, { cause });
  }
}
