/** A line about a process that ended or was started again. */
import type { SupervisionEvent } from "./supervised.ts";

export function eventText(event: SupervisionEvent): string {
  const { name } = event;
  if (event.kind === "started") return `${name} started again (process ${event.pid}, restart ${event.restarts})`;
  return `${name} ended: ${event.reason}; next start in ${event.afterMs / 1_000} s`;
}
