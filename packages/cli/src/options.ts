/** Options of the commands that run a control plane. */
import { readFileSync } from "node:fs";
import type { serve } from "./definitions/local.ts";
import { CliError } from "./errors.ts";
import type { Ports, ReplicaCounts, ServiceName } from "./layout.ts";
import type { Invocation } from "./parse/definition.ts";

export interface RunOptions {
  readonly embedded: boolean;
  readonly config: string | undefined;
  readonly mesh: string | undefined;
  readonly networks: string | undefined;
  /** Settings for all services, by their environment names. */
  readonly settings: Readonly<Record<string, string>>;
  /** First of twelve ports in a row; undefined: the table of default ports. */
  readonly firstPort: number | undefined;
  readonly workDir: string;
  readonly replicas?: ReplicaCounts;
  /** In place of those of `firstPort`. */
  readonly ports?: Ports;
  /** Settings of a service that count more than those the command line gives it: the addresses that it listens on. */
  readonly binding?: (service: ServiceName) => Readonly<Record<string, string>>;
}

export function runOptionsOf({ options, env }: Pick<Invocation<typeof serve>, "options" | "env">): RunOptions {
  const { embedded, config, mesh, networks, workDir, envFile, xdsPort, replicas } = options;
  const settings = {
    ...definedOnly(env),
    ...(envFile === undefined ? {} : parseEnvFile(readFileSync(envFile, "utf8"))),
  };
  if (embedded && Object.keys(replicas).length > 0)
    throw new CliError(
      "CLI_USAGE",
      "--replicas needs processes, --embedded runs one replica of each service in one process",
    );
  return {
    embedded,
    config,
    mesh,
    networks,
    settings,
    firstPort: xdsPort,
    workDir,
    replicas: { console: 1, ...replicas },
  };
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
