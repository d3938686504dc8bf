/**
 * `flotilla wait --for=distribution KIND/NAME.NAMESPACE`: until an object is in effect on the proxies that it concerns.
 * Exit codes: 0 it is; 1 not in time; 2 wrong usage; 3 it cannot be: it is refused, by validation or by
 * too many proxies, or nothing is generated from it.
 */
import { delay } from "@flotilla/runtime";
import { ask, type Connection } from "../connection.ts";
import type { wait as definition } from "../definitions/insight.ts";
import { CliError } from "../errors.ts";
import { describeObject, type ObjectStatus, summarize } from "../object-status.ts";
import { durationText } from "../output.ts";
import type { Run } from "../parse/definition.ts";

/** The condition that `wait` waits for. */
export interface Goal {
  /** Percent of the proxies that the object concerns. */
  readonly threshold: number;
  /** Kubernetes' generation that the object in force must have at least; a later one will do. */
  readonly objectGeneration: number | undefined;
}

export type Verdict = "live" | "waiting" | "refused" | "no effect";

const everyMs = 100;

export const wait: Run<typeof definition> = async ({ options, operands: { object }, terminal }) => {
  const goal: Goal = { threshold: options.threshold, objectGeneration: options.generation };
  const deadline = performance.now() + options.timeout;
  for (;;) {
    const status = await find(object, options);
    const verdict = status === undefined ? "waiting" : judge(status, goal);
    const isOver = performance.now() >= deadline;
    if (verdict === "waiting" && !isOver) {
      await delay(everyMs);
      continue;
    }
    const text =
      status === undefined ? `there is no ${object}` : verdict === "live" ? summarize(status) : describeObject(status);
    if (verdict === "live") terminal.print(text);
    else terminal.warn(`${verdict === "waiting" ? `not live after ${durationText(options.timeout)}: ` : ""}${text}`);
    return ({ live: 0, waiting: 1, refused: 3, "no effect": 3 } as const)[verdict];
  }
};

export function judge({ state, noEffect, inForce }: ObjectStatus, { threshold, objectGeneration }: Goal): Verdict {
  if (state === "refused") return "refused";
  if (inForce === undefined) return "waiting";
  if (noEffect !== undefined) return "no effect";
  if (objectGeneration !== undefined && (inForce.objectGeneration ?? 0) < objectGeneration) return "waiting";
  const { live, concerned, refusals, replicas } = inForce.distribution;
  // Without a report of its progress it has not arrived everywhere.
  if (replicas === 0) return "waiting";
  const needed = Math.ceil((concerned * threshold) / 100);
  if (live >= needed) return "live";
  const refusing = new Set(refusals.map(({ proxy }) => proxy)).size;
  return concerned - refusing < needed ? "refused" : "waiting";
}

/** Undefined when there is no such object yet. */
async function find(object: string, options: Connection): Promise<ObjectStatus | undefined> {
  try {
    return await ask<ObjectStatus>("config-controller", options, "/debug/objects", { object });
  } catch (error) {
    if (error instanceof CliError && error.code === "CLI_ABSENT") return undefined;
    throw error;
  }
}
