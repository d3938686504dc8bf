/**
 * Selects the scenarios and corpora of a run. A name may stand for both: `pnpm conformance gateway-api` runs the group and the corpus,
 * `scenarios/gateway-api` the group alone, `corpora/gateway-api` the corpus alone.
 */
import { existsSync } from "node:fs";
import { corpora } from "./corpora/index.ts";
import type { Options } from "./options.ts";
import { loadScenarios, scenarioNames } from "./scenarios/load.ts";
import type { Scenario } from "./scenarios/scenario.ts";

export interface Selection {
  readonly scenarios: readonly Scenario[];
  readonly corpora: readonly string[];
  /** Why something that was asked for cannot run. */
  readonly problems: readonly string[];
}

export function select({ names, scenarios, corpus, proxyTypes }: Options): Selection {
  const known = existsSync(scenarios) ? scenarioNames(scenarios) : [];
  const ofScenarios = names.map((name) => without("scenarios/", name)).filter((name) => known.includes(name));
  const namedCorpora = names.map((name) => without("corpora/", name));
  const ofCorpora = Object.keys(corpora).filter((name) => names.length === 0 || namedCorpora.includes(name));
  const isUnknown = (name: string) =>
    !known.includes(without("scenarios/", name)) && corpora[without("corpora/", name)] === undefined;
  const unknown = names.filter(isUnknown);
  const loaded =
    known.length === 0 || (names.length > 0 && ofScenarios.length === 0) ? [] : loadScenarios(scenarios, ofScenarios);
  return {
    scenarios: loaded.filter(
      ({ proxies }) => proxyTypes.length === 0 || proxies.some(({ type }) => proxyTypes.includes(type)),
    ),
    corpora: existsSync(corpus) ? ofCorpora : [],
    problems: [
      ...unknown.map((name) => `no scenario, group of scenarios or corpus is called ${name}`),
      ...(known.length === 0 ? [`no scenarios in ${scenarios}`] : []),
    ],
  };
}

function without(prefix: string, name: string): string {
  return name.startsWith(prefix) ? name.slice(prefix.length) : name;
}
