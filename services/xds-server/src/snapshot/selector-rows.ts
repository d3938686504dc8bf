/** Which services of a namespace ask for which label: a workload finds those that select it without asking all of them. */
import { compareText, type Service } from "@flotilla/model";

export type SelectorPairs = ReadonlyMap<string, readonly [label: string, value: string]>;

/** Of each selector of a service's shards the first pair by name, by its text. */
export function selectorPairs(services: Iterable<Service>): SelectorPairs {
  const pairs = [...services].flatMap(({ labelSelectors = {} }) =>
    Object.entries(labelSelectors)
      .sort(([a], [b]) => compareText(a, b))
      .slice(0, 1),
  );
  return new Map(pairs.map((pair) => [pair.join("="), pair]));
}
