/** The demo's checks: each prints a line as it ends; the last line counts them. */
export class Checks {
  readonly #write: (line: string) => void;
  #passed = 0;
  #failed = 0;

  constructor(write: (line: string) => void) {
    this.#write = write;
  }

  get failed(): number {
    return this.#failed;
  }

  /** `check` resolves to what was seen, or throws. */
  async run(name: string, check: () => Promise<string>): Promise<void> {
    try {
      this.#write(`  ok    ${name}: ${await check()}`);
      this.#passed++;
    } catch (error) {
      this.#failed++;
      this.#write(`  FAIL  ${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  summary(): string {
    return `${this.#passed} passed, ${this.#failed} failed`;
  }
}

export function expect(condition: boolean, message: string): void {
  if (!condition) throw new Error(message);
}

/**
 * The bounds within which the successes of `n` tries with probability `p` lie in all but one of a million runs
 * (normal approximation, which holds for the demo's numbers).
 */
export function binomialBounds(n: number, p: number): readonly [number, number] {
  const spread = 4.89 * Math.sqrt(n * p * (1 - p));
  return [Math.floor(n * p - spread), Math.ceil(n * p + spread)];
}
