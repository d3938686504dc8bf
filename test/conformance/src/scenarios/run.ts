/** Runs one scenario through the pure core and counts identical resources. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "@flotilla/proto";
import { createMesh } from "@flotilla/registry";
import { Core } from "@flotilla/xds-server/core";
import { type Capture, captureEnvoy } from "./capture.ts";
import { compareResources, type Difference, type Rules } from "./compare.ts";
import type { Scenario, ScenarioProxy } from "./scenario.ts";

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
  /** What stopped the scenario, if anything did. */
  readonly error?: unknown;
}

export function runScenario(
  scenario: Scenario,
  wants: (proxy: ScenarioProxy) => boolean,
  rules: Rules,
): ScenarioResult {
  const resources: ResourceResult[] = [];
  try {
    const core = new Core({ features: scenario.env });
    const mesh = createMesh(scenario.env);
    for (const { title, step, golden } of scenario.stages) {
      const [refusal] = core.apply(mesh.apply(step));
      if (refusal !== undefined) throw refusal.error;
      for (const proxy of scenario.proxies.filter(wants)) {
        const captured = captureEnvoy(core, proxy);
        resources.push(...compareCapture(proxy.name, title, join(golden, proxy.name), captured, rules));
      }
    }
    return { scenario, resources };
  } catch (error) {
    return { scenario, resources, error };
  }
}

function compareCapture(
  proxy: string,
  stage: string,
  golden: string,
  captured: Capture,
  rules: Rules,
): readonly ResourceResult[] {
  if (!existsSync(golden)) return [];
  return readdirSync(golden)
    .filter((file) => file.endsWith(".json") && file !== "meta.json")
    .flatMap((file) => {
      const type = file.slice(0, -".json".length);
      const { resources: wanted } = JSON.parse(readFileSync(join(golden, file), "utf8")) as {
        resources: Record<string, JsonObject>;
      };
      const got = captured.get(type) ?? new Map<string, JsonObject>();
      return [...new Set([...Object.keys(wanted), ...got.keys()])].map((name): ResourceResult => {
        const place = { proxy, stage, type, name };
        const [want, have] = [wanted[name], got.get(name)];
        if (want === undefined) return { ...place, outcome: "extra", differences: [] };
        if (have === undefined) return { ...place, outcome: "missing", differences: [] };
        const differences = compareResources(type, want, have, rules);
        return { ...place, outcome: differences.length === 0 ? "equal" : "different", differences };
      });
    });
}
