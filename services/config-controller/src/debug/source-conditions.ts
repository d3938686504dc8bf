/** Tells readiness how the sources are: some count only while they are near. */
import { delay, type Health } from "@flotilla/runtime";
import type { ConfigSource } from "../watch/config-source.ts";

const lookMs = 500;

/** Runs until `stop`. */
export async function watchConditions(
  sources: readonly ConfigSource[],
  health: Pick<Health, "setCondition">,
  stop: AbortSignal,
): Promise<void> {
  const watched = sources.filter(({ condition }) => condition !== undefined);
  while (watched.length > 0 && !stop.aborted) {
    for (const source of watched) {
      const condition = source.condition?.();
      health.setCondition(source.name, condition?.detail, { blocks: condition?.blocks ?? false });
    }
    await delay(lookMs, stop);
  }
}
