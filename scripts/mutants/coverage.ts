/** Places of files that ran in a process, from the reports that V8 writes into a directory (NODE_V8_COVERAGE). */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

interface V8Range {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

interface V8Script {
  readonly url: string;
  readonly functions: readonly { readonly ranges: readonly V8Range[] }[];
}

/** Places that ran: pairs of a first offset and the one after the last, in order. */
export type RanRanges = readonly (readonly [from: number, to: number])[];

/** By URL of the module; of a module that several processes loaded, one list for each. */
export function readCoverage(directory: string, isWanted: (url: string) => boolean): ReadonlyMap<string, RanRanges[]> {
  const found = new Map<string, RanRanges[]>();
  for (const name of readdirSync(directory)) {
    const { result } = JSON.parse(readFileSync(join(directory, name), "utf8")) as { result: readonly V8Script[] };
    for (const { url, functions } of result)
      if (isWanted(url))
        found.set(url, [...(found.get(url) ?? []), ranRanges(functions.flatMap(({ ranges }) => ranges))]);
  }
  return found;
}

export function isRan(ranges: RanRanges, at: number): boolean {
  return ranges.some(([from, to]) => from <= at && at < to);
}

/** V8's ranges lie within each other; the innermost one around a place has its count. */
export function ranRanges(ranges: readonly V8Range[]): RanRanges {
  const ran: (readonly [number, number])[] = [];
  const around: V8Range[] = [];
  let from = 0;
  const passTo = (offset: number): void => {
    if (offset > from && (around.at(-1)?.count ?? 0) > 0) {
      const last = ran.at(-1);
      if (last?.[1] === from) ran[ran.length - 1] = [last[0], offset];
      else ran.push([from, offset]);
    }
    from = Math.max(from, offset);
  };
  const closeBefore = (offset: number): void => {
    for (let inner = around.at(-1); inner !== undefined && inner.endOffset <= offset; inner = around.at(-1)) {
      passTo(inner.endOffset);
      around.pop();
    }
  };
  for (const range of ranges.toSorted((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset)) {
    closeBefore(range.startOffset);
    passTo(range.startOffset);
    around.push(range);
  }
  closeBefore(Number.POSITIVE_INFINITY);
  return ran;
}
