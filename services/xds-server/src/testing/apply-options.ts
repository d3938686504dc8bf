/** For tests and benches that apply changes themselves: the options of one group. */
import type { Change } from "@flotilla/model";
import type { ApplyOptions } from "../app/core-source.ts";

export function applyOptionsOf(changes: readonly Change[], position: number): ApplyOptions {
  const cause = { publisher: "test", epoch: "epoch", revision: position, eventTimeMs: 0 };
  return {
    applied: { position, changes: changes.length, objects: [], causes: [cause] },
    groups: [{ changes, position, cause }],
    urgency: "normal",
  };
}
