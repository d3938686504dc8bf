/** A candidate for a lease. Of two the newer version wins, then the one that serves the default revision. */
export interface Candidate {
  /** Names this process among all that ask. */
  readonly holder: string;
  /** Such as `1.4.0` or `1.4.0-rc.2`; numbers are compared as numbers, and a release is newer than what led to it. */
  readonly version: string;
  readonly isDefaultRevision: boolean;
}

/** True for versions of which the first is the newer one. */
export function isNewer(a: string, b: string): boolean {
  return compareVersions(a, b) > 0;
}

/** True when `a` should take over from `b`: never for two that are equal, or they would take turns. */
export function isPreferred(a: Omit<Candidate, "holder">, b: Omit<Candidate, "holder">): boolean {
  const order = compareVersions(a.version, b.version);
  return order === 0 ? a.isDefaultRevision && !b.isDefaultRevision : order > 0;
}

/** Of two that ask at the same time, every observer picks the same one. */
export function wins(a: Candidate, b: Candidate): boolean {
  if (isPreferred(a, b)) return true;
  return !isPreferred(b, a) && a.holder < b.holder;
}

function compareVersions(a: string, b: string): number {
  const [left, right] = [partsOf(a), partsOf(b)];
  for (let at = 0; at < Math.max(left.numbers.length, right.numbers.length); at++) {
    const difference = (left.numbers[at] ?? 0) - (right.numbers[at] ?? 0);
    if (difference !== 0) return difference;
  }
  if (left.pre === right.pre) return 0;
  if (left.pre === "" || right.pre === "") return left.pre === "" ? 1 : -1;
  return compareIdentifiers(left.pre.split("."), right.pre.split("."));
}

function partsOf(version: string): { readonly numbers: readonly number[]; readonly pre: string } {
  const [core = "", ...pre] = (version.split("+")[0] ?? "").replace(/^v/, "").split("-");
  return { numbers: core.split(".").map((part) => Number.parseInt(part, 10) || 0), pre: pre.join("-") };
}

/** Orders the part after the hyphen: a number is older than a word, and a longer text is newer. */
function compareIdentifiers(left: readonly string[], right: readonly string[]): number {
  for (let at = 0; at < Math.max(left.length, right.length); at++) {
    const [a, b] = [left[at], right[at]];
    if (a === undefined || b === undefined) return a === undefined ? -1 : 1;
    if (a === b) continue;
    const [isNumberA, isNumberB] = [/^\d+$/.test(a), /^\d+$/.test(b)];
    if (isNumberA !== isNumberB) return isNumberA ? -1 : 1;
    return (isNumberA ? Number(a) - Number(b) : 0) || (a < b ? -1 : 1);
  }
  return 0;
}
