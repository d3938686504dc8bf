/** `flotilla explain PROXY TYPE NAME`: why a proxy has a resource as it is. */
import { parseArgs } from "node:util";
import type { Command } from "../command.ts";
import { CliError } from "../errors.ts";
import { defaultWorkDir } from "../options.ts";
import { healthUrlOf } from "../running.ts";

/** What `/debug/explain` of xds-server answers. */
export interface Explanation {
  readonly proxy: string;
  readonly name: string;
  readonly version: string;
  readonly position: number;
  readonly since: { readonly position: number; readonly at: string } | string;
  readonly change?: {
    readonly causedBy: readonly string[];
    readonly differences: readonly { readonly path: string; readonly before?: unknown; readonly after?: unknown }[];
  };
  readonly madeFrom: readonly {
    readonly object: string;
    readonly position?: number;
    readonly by?: string;
    readonly source?: string;
  }[];
  readonly delivery: {
    readonly acknowledged?: { readonly position: number; readonly at: string };
    readonly refused?: string;
  };
}

export const explain: Command = async (args, env) => {
  const { values, positionals } = parseCommand(args, env);
  const [proxy, type, name] = positionals;
  if (proxy === undefined || type === undefined || name === undefined)
    throw new CliError("CLI_USAGE", "explain needs PROXY (name.namespace), TYPE (cds, lds, rds, eds, …) and NAME");
  const base = values.url ?? healthUrlOf("xds-server", values["work-dir"]);
  const query = new URLSearchParams({ proxyID: proxy, type, name });
  const response = await fetch(`${base}/debug/explain?${query}`).catch((cause: unknown) => {
    throw new CliError("CLI_NOT_RUNNING", `xds-server does not answer at ${base}`, { cause });
  });
  if (!response.ok) throw new CliError("CLI_REFUSED", (await response.text()).trim());
  const told = (await response.json()) as Explanation;
  process.stdout.write(`${values.json ? JSON.stringify(told, undefined, 2) : describe(told)}\n`);
  return 0;
};

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

export function describe({ proxy, name, version, position, since, change, madeFrom, delivery }: Explanation): string {
  const when = typeof since === "string" ? since : `it is so since change ${since.position}, ${since.at}`;
  const changes = (change?.differences ?? []).map(
    ({ path, before, after }) => `  ${path}: ${valueText(before)} → ${valueText(after)}`,
  );
  const { acknowledged, refused } = delivery;
  return [
    `${name} of ${proxy}, version ${version}, as of change ${position}`,
    when,
    ...(change === undefined ? [] : [`by ${change.causedBy.join(", ") || "an object that is gone"}`, ...changes]),
    "made from",
    ...madeFrom.map(({ object, position: at, by, source }) =>
      [`  ${object}`, at === undefined ? "" : `change ${at}`, source ?? "", by === undefined ? "" : `by ${by}`]
        .filter((part) => part !== "")
        .join("  "),
    ),
    refused !== undefined
      ? `refused by the proxy: ${refused}`
      : acknowledged === undefined
        ? "not acknowledged yet"
        : `acknowledged as of change ${acknowledged.position}`,
  ].join("\n");
}

function valueText(value: unknown): string {
  return value === undefined ? "nothing" : JSON.stringify(value);
}
