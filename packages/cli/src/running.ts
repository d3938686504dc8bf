/** The control plane that runs with a work directory: what `up` and `serve` leave there for other commands. */
import { readFileSync } from "node:fs";
import { CliError } from "./errors.ts";
import { paths } from "./layout.ts";
import type { RunningService } from "./supervise/child-service.ts";

export interface Running {
  readonly services: readonly Pick<RunningService, "name" | "healthUrl" | "pid">[];
}

/** @throws CliError CLI_NOT_RUNNING */
export function readRunning(workDir: string): Running {
  try {
    return JSON.parse(readFileSync(paths({ workDir }).state, "utf8")) as Running;
  } catch (cause) {
    throw new CliError("CLI_NOT_RUNNING", `no control plane runs with the work directory ${workDir}`, { cause });
  }
}

/** Where a service answers questions about itself. @throws CliError CLI_NOT_RUNNING */
export function healthUrlOf(name: string, workDir: string): string {
  const found = readRunning(workDir).services.find((service) => service.name === name);
  if (found === undefined) throw new CliError("CLI_NOT_RUNNING", `no ${name} runs with the work directory ${workDir}`);
  return found.healthUrl;
}
