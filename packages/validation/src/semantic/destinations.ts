/** Where routes send traffic: somewhere, and by shares that can be added up. */
import type { Problem } from "../problem.ts";
import { isObject, type JsonObject } from "../schema/schema.ts";
import { hostLengthProblems } from "./hosts.ts";
import { each, refuse } from "./path.ts";

/** Envoy adds weights up in 32 bits. */
const maxTotalWeight = 4_294_967_295;

export function destinationProblems(route: JsonObject, path: string): readonly Problem[] {
  const destinations = each(route, "route", path);
  return [
    ...destinations.flatMap(([one, at]) => hostProblems(one["destination"], `${at}.destination`)),
    ...hostProblems(route["mirror"], `${path}.mirror`),
    ...each(route, "mirrors", path).flatMap(([one, at]) => hostProblems(one["destination"], `${at}.destination`)),
    ...weightProblems(
      destinations.map(([{ weight }]) => (typeof weight === "number" ? weight : 0)),
      `${path}.route`,
    ),
  ];
}

function hostProblems(destination: unknown, path: string): readonly Problem[] {
  if (!isObject(destination)) return [];
  if ((destination["host"] ?? "") === "") return [refuse(`${path}.host`, "a destination has a host")];
  return hostLengthProblems(destination["host"], `${path}.host`);
}

/** Weights are shares of their sum, whatever it is; of several destinations one must get something. */
function weightProblems(weights: readonly number[], path: string): readonly Problem[] {
  const negative = weights.findIndex((weight) => weight < 0);
  if (negative >= 0) return [refuse(`${path}[${negative}].weight`, `weight ${weights[negative]} < 0`)];
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (total > maxTotalWeight) return [refuse(path, `the weights make ${total}, more than ${maxTotalWeight}`)];
  return weights.length > 1 && total === 0 ? [refuse(path, "no destination has a weight above 0")] : [];
}
