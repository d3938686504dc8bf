/** The committed floors: results may rise above them and never fall under them. */
import { readFileSync } from "node:fs";
import type { NamesByKind } from "./reference/kinds.ts";
import type { Report } from "./report.ts";

/** Scenario group or corpus → smallest number of identical resources or passed cases. */
export interface Floors {
  readonly groups: Readonly<Record<string, number>>;
  readonly corpora: Readonly<Record<string, number>>;
  /** Kind of names → smallest number of those that are honoured. */
  readonly reference?: Partial<NamesByKind<number>>;
}

export function readFloors(path: string): Floors {
  return JSON.parse(readFileSync(path, "utf8")) as Floors;
}

/** One sentence for each result under its floor. Groups that did not run are judged where all had to. */
export function underFloor({ scenarios, corpora }: Report, floors: Floors, allGroups: boolean): readonly string[] {
  const names = allGroups ? Object.keys(floors.groups) : Object.keys(scenarios.groups);
  const groups = names.flatMap((name) =>
    fall(`group ${name}`, scenarios.groups[name]?.equal ?? 0, floors.groups[name]),
  );
  const cases = Object.entries(corpora).flatMap(([name, { passed }]) =>
    fall(`corpus ${name}`, passed, floors.corpora[name]),
  );
  return [...groups, ...cases];
}

function fall(name: string, got: number, floor = 0): readonly string[] {
  return got < floor ? [`${name}: ${got} is under its floor of ${floor}`] : [];
}
