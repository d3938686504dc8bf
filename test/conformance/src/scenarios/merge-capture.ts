/** Takes a new capture over an old one: what did not change stays as it is written, also where the rules of the comparison allow another order. */
import { compareResources, type Rules } from "@flotilla/xds/compare";
import type { Capture, Resources } from "./scenario.ts";

export interface MergedCapture {
  readonly capture: Capture;
  /** Resources that are new, gone or different; a type that is answered now, or not any more, counts at least once. */
  readonly changed: number;
}

const none: Resources = new Map();

export function mergeCapture(before: Capture, after: Capture, rules: Rules): MergedCapture {
  const capture = new Map<string, Resources>();
  let changed = 0;
  for (const type of new Set([...before.keys(), ...after.keys()])) {
    const [old = none, now = none] = [before.get(type), after.get(type)];
    const merged = new Map(
      [...now].map(([name, value]) => {
        const known = old.get(name);
        const isSame = known !== undefined && compareResources(type, known, value, rules).length === 0;
        return [name, isSame ? known : value] as const;
      }),
    );
    const names = [...new Set([...old.keys(), ...now.keys()])];
    const different = names.filter((name) => merged.get(name) === undefined || merged.get(name) !== old.get(name));
    const isAnswerNew = before.has(type) !== after.has(type);
    changed += Math.max(different.length, isAnswerNew ? 1 : 0);
    if (after.has(type)) capture.set(type, merged);
  }
  return { capture, changed };
}
