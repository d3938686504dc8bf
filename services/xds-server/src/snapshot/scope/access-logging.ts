/** Which providers log a proxy's traffic, as Telemetry of the mesh, the namespace and the workload say. */
import type { Config } from "@flotilla/model";
import type { AccessLogging, Telemetry } from "@flotilla/proto/telemetry/v1alpha1/telemetry_pb";
import { query } from "../view.ts";
import { speaksOf, type TrafficSide, telemetries } from "./telemetry.ts";

export interface LogProvider {
  readonly name: string;
  /** A CEL expression that a request has to meet; empty for every request. */
  readonly filter: string;
}

/** By name; undefined where nobody says anything: then the mesh's own file counts. */
export const effectiveAccessLogging = query<readonly LogProvider[] | undefined, TrafficSide>(
  "effective-access-logging",
  (view, side) => {
    const defaults = view.mesh.defaultProviders?.accessLogging ?? [];
    const speaking = view.read(telemetries).filter(({ spec }) => spec.accessLogging.length > 0);
    if (speaking.length === 0)
      return defaults.length === 0 ? undefined : [...new Set(defaults)].sort().map((name) => ({ name, filter: "" }));
    const levels = speaking.map((config) => rulesOf(config, side));
    // The narrowest level that names providers says which there are, wider ones only how those log.
    const meant = new Set(levels.findLast((rules) => namesIn(rules).length > 0)?.flatMap(providerNames) ?? defaults);
    if (meant.size === 0) return undefined;
    const filters = new Map<string, string>();
    for (const rule of levels.flat())
      for (const name of providerNames(rule)) filters.set(name, rule.filter?.expression ?? "");
    const logging = new Set<string>();
    let inherited: readonly string[] = defaults;
    for (const rule of levels.flat()) {
      const names = providerNames(rule);
      inherited = names.length > 0 ? names : inherited;
      for (const name of inherited.filter((one) => meant.has(one))) {
        if (rule.disabled === true) logging.delete(name);
        else logging.add(name);
      }
    }
    return [...logging].sort().map((name) => ({ name, filter: filters.get(name) ?? "" }));
  },
  (a, b) => JSON.stringify(a) === JSON.stringify(b),
);

function rulesOf({ spec }: Config<Telemetry>, side: TrafficSide): readonly AccessLogging[] {
  return spec.accessLogging.filter(({ match }) => speaksOf(match?.mode, side));
}

function namesIn(rules: readonly AccessLogging[]): readonly string[] {
  return rules.flatMap(providerNames);
}

function providerNames({ providers }: AccessLogging): readonly string[] {
  return providers.map(({ name }) => name);
}
