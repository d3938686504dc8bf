/** Runs one scenario through the pure core and counts identical resources. */
import { captureFromCore } from "@flotilla/cli/compare";
import { type NodeInfo, parseLocality } from "@flotilla/model";
import { createMesh } from "@flotilla/registry";
import { compareResources, type Difference, type Rules } from "@flotilla/xds/compare";
import { Core } from "@flotilla/xds-server/core";
import { parseFeatures } from "@flotilla/xds-server/features";
import type { Capture, Scenario, ScenarioProxy } from "./scenario.ts";

export interface ResourceResult {
  readonly proxy: string;
  readonly stage: string;
  readonly type: string;
  readonly name: string;
  readonly outcome: "equal" | "different" | "missing" | "extra";
  readonly differences: readonly Difference[];
}

export interface ScenarioResult {
  readonly scenario: Scenario;
  readonly resources: readonly ResourceResult[];
  /** The error that stopped the scenario, if any did. */
  readonly error?: unknown;
}

const noCapture: Capture = new Map();

export function runScenario(
  scenario: Scenario,
  wants: (proxy: ScenarioProxy) => boolean,
  rules: Rules,
): ScenarioResult {
  const resources: ResourceResult[] = [];
  try {
    const core = new Core({ features: parseFeatures(scenario.env) });
    const mesh = createMesh(scenario.env);
    for (const { title, step, expected } of scenario.stages) {
      const [refusal] = core.apply(mesh.apply(step));
      if (refusal !== undefined) throw refusal.error;
      for (const proxy of scenario.proxies.filter(wants)) {
        const want = expected.get(proxy.name) ?? noCapture;
        resources.push(
          ...compareCapture(
            { proxy: proxy.name, stage: title },
            want,
            captureFromCore(core, nodeOf(proxy), proxy.grpcTargets),
            rules,
          ),
        );
      }
    }
    return { scenario, resources };
  } catch (error) {
    return { scenario, resources, error };
  }
}

function nodeOf({ id, cluster, metadata, locality = "" }: ScenarioProxy): NodeInfo {
  return { id, cluster, metadata, locality: parseLocality(locality) };
}

/** Types that istiod did not answer are not compared. */
export function compareCapture(
  place: { readonly proxy: string; readonly stage: string },
  expected: Capture,
  captured: Capture,
  rules: Rules,
): readonly ResourceResult[] {
  return [...expected].flatMap(([type, wanted]) => {
    const got = captured.get(type) ?? new Map<string, never>();
    return [...new Set([...wanted.keys(), ...got.keys()])].map((name): ResourceResult => {
      const [want, have] = [wanted.get(name), got.get(name)];
      const found = { ...place, type, name };
      if (want === undefined) return { ...found, outcome: "extra", differences: [] };
      if (have === undefined) return { ...found, outcome: "missing", differences: [] };
      const differences = compareResources(type, want, have, rules);
      return { ...found, outcome: differences.length === 0 ? "equal" : "different", differences };
    });
  });
}
