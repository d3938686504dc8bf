/** Where routes send traffic: destinations and their weights. */
import type { Problem } from "../../problem.ts";
import { type Field, field, fieldAt, isSet, items, numberOf, refuseIf, textOf } from "./field.ts";
import { subsetNameProblems, wildcardHostProblems } from "./names.ts";
import { portProblems } from "./values.ts";

/** A service, with a subset and a port if it needs one; nothing for an absent one. */
export function destinationProblems(destination: Field): readonly Problem[] {
  if (!isSet(destination)) return [];
  const host = field(destination, "host");
  const subset = field(destination, "subset");
  const port = field(destination, "port");
  return [
    ...(textOf(host) === "" ? refuseIf(true, host, "a destination has a host") : wildcardHostProblems(host)),
    ...refuseIf(textOf(host) === "*", host, "* is no destination"),
    ...(textOf(subset) === "" ? [] : subsetNameProblems(subset)),
    ...(isSet(port) ? portProblems(field(port, "number")) : []),
  ];
}

/** The `route` of a route: destinations with weights. Routes of converted objects may lead to hosts of other forms. */
export function routeProblems(route: Field, isConverted: boolean): readonly Problem[] {
  const members = items(route, "route");
  return [
    ...members.flatMap((member) => [
      ...refuseIf(!isSet(field(member, "destination")), fieldAt(member, "destination"), "is required"),
      ...(isConverted ? [] : destinationProblems(field(member, "destination"))),
    ]),
    ...weightProblems(
      members.map((member) => numberOf(field(member, "weight"))),
      field(route, "route"),
    ),
  ];
}

/** Envoy adds weights up in 32 bits. */
const maxTotalWeight = 4_294_967_295;

/** Weights are shares of their sum, whatever it is; of several destinations one must get something. */
function weightProblems(weights: readonly number[], { value, path }: Field): readonly Problem[] {
  const negative = weights.findIndex((weight) => weight < 0);
  if (negative >= 0)
    return refuseIf(true, { value, path: `${path}[${negative}].weight` }, `weight ${weights[negative]} < 0`);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (total > maxTotalWeight)
    return refuseIf(true, { value, path }, `the weights make ${total}, more than ${maxTotalWeight}`);
  return refuseIf(weights.length > 1 && total === 0, { value, path }, "no destination has a weight above 0");
}
