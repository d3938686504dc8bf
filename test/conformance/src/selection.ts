/** Which scenarios and corpora a run is about. A name may stand for both: `pnpm conformance gateway-api` runs the group and the corpus. */
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
  const ofScenarios = names.filter((name) => known.includes(name));
  const ofCorpora = Object.keys(corpora).filter((name) => names.length === 0 || names.includes(name));
  const unknown = names.filter((name) => !known.includes(name) && corpora[name] === undefined);
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
