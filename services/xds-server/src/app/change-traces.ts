/** Spans of changes in this replica: their wait for the batch, its application, its delivery to the last proxy. */
import { type AppliedSet, type Cause, causeId } from "@flotilla/model";
import type { Tracer } from "@flotilla/runtime";

export interface BatchTrace {
  /** Begin and end of the application, milliseconds since 1970. */
  applied(startMs: number, endMs: number): void;
  /** The last proxy has answered. */
  delivered(endMs: number): void;
}

interface TracedBatch {
  readonly groups: readonly { readonly cause: Cause }[];
  readonly waitedMs: number;
}

/** A first state is one batch of all groups, whose events are past. */
const mostGroups = 64;

export function traceBatch(tracer: Tracer, { groups, waitedMs }: TracedBatch, { objects }: AppliedSet): BatchTrace {
  const causes = groups.flatMap(({ cause }) => (cause.eventTimeMs > 0 ? [cause] : [])).slice(0, mostGroups);
  const attributes = { "flotilla.objects": objects.join(", "), "flotilla.groups": groups.length };
  const record = (name: string, startMs: number, endMs: number) => {
    for (const cause of causes) tracer.record({ trace: causeId(cause), name, startMs, endMs, attributes });
  };
  let appliedMs = 0;
  return {
    applied: (startMs, endMs) => {
      appliedMs = endMs;
      record("debounce", startMs - waitedMs, startMs);
      record("apply", startMs, endMs);
    },
    delivered: (endMs) => record("deliver", appliedMs, Math.max(appliedMs, endMs)),
  };
}
