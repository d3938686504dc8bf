/** Holders that an operator does not wait for: the names of `--without`, resolved against the list of those that hold a rotation up. Pure. */
import { CaError } from "../errors.ts";
import type { Holdup } from "./holdups.ts";

/** Stands for all holders without a connected proxy. */
const disconnected = "disconnected";

const maxListed = 20;

/**
 * Each value is a name of the list, an identity (all its holders), a proxy as `NAME.NAMESPACE`, or `disconnected`. Values that were
 * taken before stay valid. @throws CaError CA_ROTATION for a value that nothing of the list answers to
 */
export function resolveWithout(
  values: readonly string[],
  holdups: readonly Holdup[],
  known: readonly string[],
): readonly string[] {
  return values.flatMap((value) => {
    const names = holdups.filter((holdup) => isMeant(value, holdup)).map(({ name }) => name);
    if (names.length > 0) return names;
    if (known.includes(value) || value === disconnected) return known.includes(value) ? [value] : [];
    throw new CaError("CA_ROTATION", `nothing that holds the rotation up is called ${value}: ${listOf(holdups)}`);
  });
}

function isMeant(value: string, { name, proxy, isConnected }: Holdup): boolean {
  if (value === disconnected) return isConnected === false;
  return value === name || value === proxy || name.startsWith(`${value}@`);
}

function listOf(holdups: readonly Holdup[]): string {
  if (holdups.length === 0) return "nothing does";
  const shown = holdups.slice(0, maxListed).map(({ name }) => name);
  const more = holdups.length > maxListed ? ` and ${holdups.length - maxListed} more` : "";
  return `it is held up by ${shown.join(", ")}${more}`;
}
