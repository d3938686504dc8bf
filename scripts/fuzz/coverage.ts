/**
 * Code that ran, by V8's coverage of blocks: inputs that reach a block for the first time are worth changing further. Taking the coverage
 * costs milliseconds, so that it is taken for many inputs at once, and halved down to single ones where they reached something.
 */
import { Session } from "node:inspector";

interface Range {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

interface Script {
  readonly url: string;
  readonly functions: readonly { readonly ranges: readonly Range[] }[];
}

/** From offset to offset. */
type Gap = readonly [number, number];

/** By function: ranges that have not run yet. */
type Gaps = ReadonlyMap<string, readonly Gap[]>;

export class CoverageGuide implements Disposable {
  readonly #session = new Session();
  readonly #ofInterest: (url: string) => boolean;
  readonly #gaps = new Map<string, readonly Gap[]>();

  /** @param ofInterest scripts that count */
  constructor(ofInterest: (url: string) => boolean) {
    this.#ofInterest = ofInterest;
    this.#session.connect();
    this.#session.post("Profiler.enable");
    this.#session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  }

  /** Functions that have run, whole or in part. */
  get functions(): number {
    return this.#gaps.size;
  }

  /** Starts to observe code from here on. */
  reset(): void {
    this.#take();
  }

  /** True where code ran since the last look that never did before. `keep`: from now on it did. */
  reachedNew(keep: boolean): boolean {
    let isNew = false;
    for (const [name, gaps] of this.#take()) {
      const before = this.#gaps.get(name);
      const after = before === undefined ? gaps : shared(before, gaps);
      if (before !== undefined && lengthOf(after) === lengthOf(before)) continue;
      isNew = true;
      if (keep) this.#gaps.set(name, after);
    }
    return isNew;
  }

  [Symbol.dispose](): void {
    this.#session.disconnect();
  }

  /** Of functions that ran since the last look. */
  #take(): Gaps {
    let scripts: readonly Script[] = [];
    // Within one thread the answer comes before `post` returns.
    this.#session.post("Profiler.takePreciseCoverage", (error, { result }) => {
      if (error !== null) throw error;
      scripts = result;
    });
    const gaps = new Map<string, readonly Gap[]>();
    for (const { url, functions } of scripts)
      if (this.#ofInterest(url))
        for (const { ranges } of functions) {
          const [whole] = ranges;
          if (whole !== undefined && whole.count > 0) gaps.set(`${url} ${whole.startOffset}`, gapsOf(ranges));
        }
    return gaps;
  }
}

/** Ranges come from the outer to the inner ones, and the inner count. */
function gapsOf(ranges: readonly Range[]): readonly Gap[] {
  const gaps: Gap[] = [];
  const open: { end: number; readonly isGap: boolean; from: number }[] = [];
  const close = (at: number): void => {
    for (let top = open.at(-1); top !== undefined && top.end <= at; top = open.at(-1)) {
      if (top.isGap && top.end > top.from) gaps.push([top.from, top.end]);
      open.pop();
      const outer = open.at(-1);
      if (outer !== undefined) outer.from = top.end;
    }
  };
  for (const { startOffset, endOffset, count } of ranges) {
    close(startOffset);
    const outer = open.at(-1);
    if (outer?.isGap === true && startOffset > outer.from) gaps.push([outer.from, startOffset]);
    open.push({ end: endOffset, isGap: count === 0, from: startOffset });
  }
  close(Number.POSITIVE_INFINITY);
  return gaps;
}

/** The intersection of both; each is in order and without overlaps. */
function shared(one: readonly Gap[], other: readonly Gap[]): readonly Gap[] {
  const found: Gap[] = [];
  for (const [from, to] of one)
    for (const [start, end] of other)
      if (Math.max(from, start) < Math.min(to, end)) found.push([Math.max(from, start), Math.min(to, end)]);
  return found;
}

function lengthOf(gaps: readonly Gap[]): number {
  return gaps.reduce((sum, [from, to]) => sum + to - from, 0);
}
