/**
 * `flotilla wait --for=distribution KIND/NAME.NAMESPACE`: until an object is in effect on the proxies that it concerns.
 * Exit codes: 0 it is; 1 not in time; 2 wrong usage; 3 it is refused, by validation or by so many proxies that it cannot be.
 */
import { parseArgs } from "node:util";
import { delay } from "@flotilla/runtime";
import { ask } from "../ask.ts";
import type { Command } from "../command.ts";
import { CliError } from "../errors.ts";
import { describeObject, type ObjectStatus, summarize } from "../object-status.ts";
import { defaultWorkDir } from "../options.ts";

/** What is awaited. */
export interface Goal {
  /** Percent of the proxies that the object concerns. */
  readonly threshold: number;
  /** Kubernetes' generation that the object in force must have at least; a later one will do. */
  readonly objectGeneration: number | undefined;
}

export type Verdict = "live" | "waiting" | "refused";

const everyMs = 100;

export const wait: Command = async (args, env) => {
  const { values, positionals } = parseCommand(args, env);
  const [object, ...more] = positionals;
  if (object === undefined || more.length > 0 || values.for !== "distribution")
    throw new CliError("CLI_USAGE", "wait needs --for=distribution and one KIND/NAME.NAMESPACE");
  const goal: Goal = {
    threshold: numberOf("--threshold", values.threshold, 100),
    objectGeneration: values.generation === undefined ? undefined : numberOf("--generation", values.generation),
  };
  const deadline = performance.now() + durationMs(values.timeout);
  for (;;) {
    const status = await find(object, values);
    const verdict = status === undefined ? "waiting" : judge(status, goal);
    const isOver = performance.now() >= deadline;
    if (verdict === "waiting" && !isOver) {
      await delay(everyMs);
      continue;
    }
    const text =
      status === undefined ? `there is no ${object}` : verdict === "live" ? summarize(status) : describeObject(status);
    if (verdict === "live") process.stdout.write(`${text}\n`);
    else process.stderr.write(`${verdict === "waiting" ? `not live after ${values.timeout}: ` : ""}${text}\n`);
    return { live: 0, waiting: 1, refused: 3 }[verdict];
  }
};

export function judge({ state, inForce }: ObjectStatus, { threshold, objectGeneration }: Goal): Verdict {
  if (state === "refused") return "refused";
  if (inForce === undefined) return "waiting";
  if (objectGeneration !== undefined && (inForce.objectGeneration ?? 0) < objectGeneration) return "waiting";
  const { live, concerned, refusals, replicas } = inForce.distribution;
  // Nobody has told how far it has come: that is not everywhere.
  if (replicas === 0) return "waiting";
  const needed = Math.ceil((concerned * threshold) / 100);
  if (live >= needed) return "live";
  const refusing = new Set(refusals.map(({ proxy }) => proxy)).size;
  return concerned - refusing < needed ? "refused" : "waiting";
}

/** Undefined when there is no such object yet. */
async function find(object: string, options: Parameters<typeof ask>[1]): Promise<ObjectStatus | undefined> {
  try {
    return await ask<ObjectStatus>("config-controller", options, "/debug/objects", { object });
  } catch (error) {
    if (error instanceof CliError && error.code === "CLI_ABSENT") return undefined;
    throw error;
  }
}

function numberOf(option: string, text: string, most = Number.MAX_SAFE_INTEGER): number {
  const value = Number(text);
  if (text.trim() !== "" && value >= 0 && value <= most) return value;
  throw new CliError("CLI_USAGE", `${option} ${text} is not a number${most === 100 ? " from 0 to 100" : ""}`);
}

/** `30s`, `500ms`, `2m`. */
function durationMs(text: string): number {
  const [, amount, unit = "s"] = /^(\d+(?:\.\d+)?)(ms|s|m)?$/.exec(text) ?? [];
  if (amount === undefined) throw new CliError("CLI_USAGE", `--timeout ${text} is not a duration such as 30s`);
  return Number(amount) * { ms: 1, s: 1_000, m: 60_000 }[unit as "ms" | "s" | "m"];
}

function parseCommand(args: readonly string[], env: NodeJS.ProcessEnv) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        "work-dir": { type: "string", default: defaultWorkDir(env) },
        url: { type: "string" },
        for: { type: "string", default: "distribution" },
        timeout: { type: "string", default: "30s" },
        threshold: { type: "string", default: "100" },
        generation: { type: "string" },
      },
    });
  } catch (cause) {
    throw new CliError("CLI_USAGE", (cause as Error).message, { cause });
  }
}
