/** Sums results up: per scenario group, per type and per corpus. */
import type { CorpusResult } from "./corpora/corpus.ts";
import type { ScenarioResult } from "./scenarios/run.ts";

interface Tally {
  readonly equal: number;
  readonly total: number;
  /** Scenarios in which every proxy, type and step is identical. */
  readonly whole: number;
  readonly count: number;
}

export interface Report {
  readonly scenarios: {
    readonly whole: number;
    readonly count: number;
    readonly groups: Readonly<Record<string, Tally>>;
    readonly types: Readonly<Record<string, Tally>>;
  };
  readonly corpora: Readonly<Record<string, { readonly passed: number; readonly total: number }>>;
}

export function summarize(scenarios: readonly ScenarioResult[], corpora: readonly CorpusResult[]): Report {
  const groups = [...new Set(scenarios.map(({ scenario }) => scenario.group))];
  const types = [...new Set(scenarios.flatMap(({ resources }) => resources.map(({ type }) => type)))].sort();
  const ofType = (type: string) =>
    scenarios
      .map((result) => ({ ...result, resources: result.resources.filter((resource) => resource.type === type) }))
      .filter(({ resources }) => resources.length > 0);
  const { whole, count } = tally(scenarios);
  return {
    scenarios: {
      whole,
      count,
      groups: Object.fromEntries(
        groups.map((group) => [group, tally(scenarios.filter(({ scenario }) => scenario.group === group))]),
      ),
      types: Object.fromEntries(types.map((type) => [type, tally(ofType(type))])),
    },
    corpora: Object.fromEntries(
      corpora.map(({ name, cases }) => [
        name,
        { passed: cases.filter(({ passed }) => passed).length, total: cases.length },
      ]),
    ),
  };
}

function tally(results: readonly ScenarioResult[]): Tally {
  const resources = results.flatMap((result) => result.resources);
  return {
    equal: resources.filter(({ outcome }) => outcome === "equal").length,
    total: resources.length,
    whole: results.filter(isWhole).length,
    count: results.length,
  };
}

export function isWhole({ resources, error }: ScenarioResult): boolean {
  return error === undefined && resources.every(({ outcome }) => outcome === "equal");
}

export function printReport({ scenarios, corpora }: Report, write: (line: string) => void): void {
  const line = (name: string, { equal, total, whole, count }: Tally) =>
    write(`${name.padEnd(20)} parity: ${equal}/${total} (${percent(equal, total)})  whole: ${whole}/${count}`);
  for (const [name, value] of Object.entries(scenarios.types)) line(name, value);
  for (const [name, value] of Object.entries(scenarios.groups)) line(name, value);
  const all = Object.values(scenarios.groups);
  if (all.length > 0) {
    const sum = (pick: (value: Tally) => number) => all.reduce((total, value) => total + pick(value), 0);
    line("all scenarios", {
      equal: sum((t) => t.equal),
      total: sum((t) => t.total),
      whole: scenarios.whole,
      count: scenarios.count,
    });
  }
  for (const [name, { passed, total }] of Object.entries(corpora))
    write(`${name.padEnd(20)} ${passed} of ${total} (${percent(passed, total)})`);
}

function percent(part: number, whole: number): string {
  return whole === 0 ? "–" : `${((100 * part) / whole).toFixed(1)} %`;
}
