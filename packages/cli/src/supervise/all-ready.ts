/** Waiting for a control plane to be ready. */
import { delay } from "@flotilla/runtime";
import { CliError } from "../errors.ts";
import type { ControlPlane } from "./control-plane.ts";
import { type Health, healthOf } from "./health.ts";
import type { RunningService } from "./running-service.ts";

const pollMs = 100;

/** Health from a service's page, if it is the page of the process that runs now. */
export function healthOfService({ healthUrl, pid, supervised }: RunningService): Promise<Health> {
  // A service within this process has no number of its own.
  const expected = supervised.run === undefined ? -1 : (pid ?? process.pid);
  return healthOf({ healthUrl, pid: expected });
}

/**
 * Resolves when every service is ready, or `stop` fires.
 * @throws CliError CLI_SERVICE_ENDED naming those that are not in time, or the one that ended again and again
 */
export async function allReady(
  { services, ended }: Pick<ControlPlane, "services" | "ended">,
  withinMs: number,
  onPoll: () => void | Promise<void>,
  stop: AbortSignal,
): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!stop.aborted) {
    const states = await Promise.race([Promise.all(services.map(healthOfService)), ended]);
    await onPoll();
    if (states.every(({ state }) => state === "ready")) return;
    if (performance.now() > deadline) throw notReady(services, states, withinMs);
    await delay(pollMs, stop);
  }
}

function notReady(services: readonly RunningService[], states: readonly Health[], withinMs: number): CliError {
  const late = services.flatMap(({ replica }, i) => {
    const { state = "away", detail = "" } = states[i] ?? {};
    return state === "ready" ? [] : [`${replica} (${detail || state})`];
  });
  return new CliError("CLI_SERVICE_ENDED", `not ready after ${withinMs / 1000} s: ${late.join(", ")}`);
}
