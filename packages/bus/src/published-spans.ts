/** The first span of a change: from the source's event to its acknowledged publication. */
import { type Cause, type Change, causeId } from "@flotilla/model";
import type { Tracer } from "@flotilla/runtime";

type OnPublished = (changes: readonly Pick<Change, "type" | "op">[], cause: Cause) => void;

/** For `onPublished` of a publisher; without a tracer `then` alone. */
export function recordPublished(tracer: Tracer | undefined, then: OnPublished): OnPublished {
  if (tracer === undefined) return then;
  return (changes, cause) => {
    const { eventTimeMs, source = "" } = cause;
    const endMs = Date.now();
    tracer.record({
      ...{ trace: causeId(cause), name: "publish", isRoot: true, startMs: Math.min(eventTimeMs, endMs), endMs },
      attributes: { "flotilla.change": causeId(cause), "flotilla.changes": changes.length, "flotilla.source": source },
    });
    then(changes, cause);
  };
}
