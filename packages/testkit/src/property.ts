/**
 * Properties that hold for every input, checked with random ones and shrunk to a small one when it fails. The seed is fixed, so
 * that a test that passed passes again; PROPERTY_SEED, PROPERTY_PATH and PROPERTY_RUNS ask for others (README.md).
 */
import fc from "fast-check";

export interface PropertyOptions {
  /** Inputs that are tried where PROPERTY_RUNS is not set. */
  readonly runs: number;
  /** False for checks that take too long to look for a smaller input: the failure itself must suffice. */
  readonly shrinks?: boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;
type Parameters = fc.Parameters<unknown> & { readonly seed: number; readonly numRuns: number };

const defaultSeed = 24;

/** @throws Error with the smallest input found that breaks the property, and with the settings that try it again. */
export function checkProperty<Input>(
  inputs: fc.Arbitrary<Input>,
  holds: (input: Input) => void,
  options: PropertyOptions,
): void {
  const property = fc.property(inputs, (input) => {
    holds(input);
  });
  throwOnFailure(fc.check(property, propertyParameters(process.env, options) as fc.Parameters<[Input]>));
}

/** The same for a check that takes time. */
export async function checkAsyncProperty<Input>(
  inputs: fc.Arbitrary<Input>,
  holds: (input: Input) => Promise<void>,
  options: PropertyOptions,
): Promise<void> {
  const property = fc.asyncProperty(inputs, async (input) => {
    await holds(input);
  });
  throwOnFailure(await fc.check(property, propertyParameters(process.env, options) as fc.Parameters<[Input]>));
}

/** @throws RangeError when a setting is no whole number. */
export function propertyParameters(env: Environment, { runs, shrinks = true }: PropertyOptions): Parameters {
  const { PROPERTY_SEED: seed = String(defaultSeed), PROPERTY_PATH: path, PROPERTY_RUNS: asked } = env;
  return {
    seed: seed === "random" ? Math.floor(Math.random() * 0x7fffffff) : wholeNumber("PROPERTY_SEED", seed),
    numRuns: asked === undefined ? runs : wholeNumber("PROPERTY_RUNS", asked),
    ...(path !== undefined && { path }),
    ...(!shrinks && { endOnFailure: true }),
  };
}

function wholeNumber(name: string, text: string): number {
  if (!/^-?\d+$/.test(text)) throw new RangeError(`${name}=${text} is no whole number`);
  return Number(text);
}

function throwOnFailure<Input>(details: fc.RunDetails<[Input]>): void {
  if (!details.failed) return;
  const again = `PROPERTY_SEED=${details.seed}${details.counterexamplePath === null ? "" : ` PROPERTY_PATH=${details.counterexamplePath}`}`;
  throw new Error(`${fc.defaultReportMessage(details)}\nThe same input again: ${again}`, {
    cause: details.errorInstance,
  });
}
