/** Bounds of host names (RFC 1035), which no schema of a kind states: names become subjects, keys, clusters and domains. */
import type { Problem } from "../problem.ts";
import type { JsonObject } from "../schema/schema.ts";
import { eachText, refuse } from "./path.ts";

const maxHostLength = 253;
const maxLabelLength = 63;

/** The hosts of a list. */
export function hostListProblems(parent: JsonObject, name: string, path: string): readonly Problem[] {
  return eachText(parent, name, path).flatMap(([host, at]) => hostLengthProblems(host, at));
}

/** Nothing for what is no text. A namespace before the host, as in `shop/reviews.example.com`, counts with the host. */
export function hostLengthProblems(host: unknown, path: string): readonly Problem[] {
  if (typeof host !== "string") return [];
  if (host.length > maxHostLength)
    return [refuse(path, `a host has at most ${maxHostLength} characters, this one has ${host.length}`)];
  const label = host.split(/[./]/).find((one) => one.length > maxLabelLength);
  if (label === undefined) return [];
  return [refuse(path, `a label of a host has at most ${maxLabelLength} characters, "${label}" has ${label.length}`)];
}
