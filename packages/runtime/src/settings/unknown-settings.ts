/**
 * Environment variables that are named like settings of Istio's control plane and are a setting of no service: mistyped, or without
 * an equivalent here. They would have no effect, silently.
 */
import { closest, distance } from "fastest-levenshtein";
import knownSettings from "./known-settings.json" with { type: "json" };

export interface UnknownSetting {
  readonly name: string;
  /** The setting that was probably meant. */
  readonly nearest: string | undefined;
}

const istioSetting = /^(?:PILOT|ISTIO|ENABLE|CITADEL)_/;
/** Kubernetes names the Services of the namespace to every container. */
const serviceLink = /_(?:SERVICE_HOST|SERVICE_PORT|PORT)$|_SERVICE_PORT_|_PORT_\d+_(?:TCP|UDP|SCTP)/;

/** `known`: the settings of all services; one environment is often given to several. */
export function unknownSettings(
  env: Readonly<Record<string, string | undefined>>,
  known: readonly string[] = knownSettings,
): readonly UnknownSetting[] {
  return Object.keys(env)
    .filter((name) => istioSetting.test(name) && !serviceLink.test(name) && !known.includes(name))
    .map((name) => ({ name, nearest: nearestOf(name, known) }));
}

/** None when more than a third of the name would have to change. */
function nearestOf(name: string, known: readonly string[]): string | undefined {
  const nearest = closest(name, known);
  return distance(name, nearest) <= name.length / 3 ? nearest : undefined;
}
