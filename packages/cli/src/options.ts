/** Options of the commands that run a control plane. */
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { CliError } from "./errors.ts";

export interface RunOptions {
  readonly embedded: boolean;
  readonly config: string | undefined;
  readonly mesh: string | undefined;
  readonly networks: string | undefined;
  /** Settings for all services, by their environment names. */
  readonly settings: Readonly<Record<string, string>>;
  /** First of ten ports in a row; undefined: the table of default ports. */
  readonly firstPort: number | undefined;
  readonly workDir: string;
  /** Options of the command's own, by name. */
  readonly flags: ReadonlySet<string>;
}

const booleans = ["embedded", "once", "quiet"] as const;

/** @throws CliError CLI_USAGE naming the option */
export function parseRunOptions(args: readonly string[], env: NodeJS.ProcessEnv): RunOptions {
  const { values } = parse(args);
  const port = values["xds-port"];
  if (port !== undefined && !/^\d{1,5}$/.test(port))
    throw new CliError("CLI_USAGE", `--xds-port ${port} is not a port`);
  const file = values["env-file"];
  return {
    embedded: values.embedded ?? false,
    config: values.config && resolve(values.config),
    mesh: values.mesh && resolve(values.mesh),
    networks: values.networks && resolve(values.networks),
    settings: { ...definedOnly(env), ...(file === undefined ? {} : parseEnvFile(readFileSync(file, "utf8"))) },
    firstPort: port === undefined ? undefined : Number(port),
    workDir: resolve(values["work-dir"] ?? defaultWorkDir(env)),
    flags: new Set(booleans.filter((name) => values[name] === true)),
  };
}

export function defaultWorkDir(env: NodeJS.ProcessEnv): string {
  return env["FLOTILLA_WORK_DIR"] ?? join(homedir(), ".flotilla");
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        config: { type: "string" },
        mesh: { type: "string" },
        networks: { type: "string" },
        "env-file": { type: "string" },
        "xds-port": { type: "string" },
        "work-dir": { type: "string" },
        embedded: { type: "boolean" },
        once: { type: "boolean" },
        quiet: { type: "boolean" },
      },
    });
  } catch (cause) {
    throw new CliError("CLI_USAGE", (cause as Error).message, { cause });
  }
}

/** Lines of `NAME=value`; the value may stand in single or double quotes. */
export function parseEnvFile(text: string): Readonly<Record<string, string>> {
  const entries = text.split("\n").flatMap((line) => {
    const found = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)=(.*)$/.exec(line);
    return found === null ? [] : [[found[1] ?? "", unquote((found[2] ?? "").trim())] as const];
  });
  return Object.fromEntries(entries);
}

function unquote(text: string): string {
  const [quote] = text;
  return (quote === "'" || quote === '"') && text.length > 1 && text.endsWith(quote) ? text.slice(1, -1) : text;
}

function definedOnly(env: NodeJS.ProcessEnv): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined));
}
