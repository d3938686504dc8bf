/**
 * `pnpm fuzz [TARGET…] [--minutes N | --seconds N] [--inputs N] [--seed N] [--keep N]`: parsers of untrusted input, on inputs made of
 * kept ones and of those that reached new code. An input that fails is kept in scripts/fuzz/corpus and named; so are, with `--keep`, as many that
 * reached new code. Two targets run side by side. Without options each has 100,000 inputs, and all together 5 minutes; `--seconds` and `--minutes`
 * are for all together too, `--minutes` without a bound on inputs. `npm test` gives them 15 seconds.
 */
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { keepInput } from "./fuzz/corpus.ts";
import { runSideBySide } from "./fuzz/side-by-side.ts";
import { fuzzTargets } from "./fuzz/targets.ts";

const text = { type: "string" } as const;
const { values, positionals } = parseArgs({
  options: { minutes: text, seconds: text, inputs: text, seed: text, keep: text },
  allowPositionals: true,
});
const unknown = positionals.filter((name) => !fuzzTargets.some((target) => target.name === name));
if (unknown.length > 0) {
  process.stderr.write(
    `no target ${unknown.join(", ")}; there are ${fuzzTargets.map(({ name }) => name).join(", ")}\n`,
  );
  process.exit(2);
}
const isTimed = values.minutes !== undefined;
const budget = {
  seconds: isTimed ? 60 * numberOf(values.minutes, 1) : numberOf(values.seconds, 300),
  threads: Math.min(2, availableParallelism()),
  maxInputs: numberOf(values.inputs, isTimed ? Number.MAX_SAFE_INTEGER : 100_000),
  seed: numberOf(values.seed, 1),
};
let failed = 0;
const chosen = fuzzTargets.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
await runSideBySide(chosen, new URL("./fuzz/targets.ts", import.meta.url).href, budget, (name, report) => {
  const { inputs, slowestMs, failure, reached, functions } = report;
  const found = `${reached.length} reached new code, ${functions} functions ran`;
  process.stdout.write(`${name}: ${inputs} inputs, the slowest ${slowestMs.toFixed(1)} ms; ${found}\n`);
  for (const input of reached.slice(0, numberOf(values.keep, 0))) keepInput(name, input, "reached");
  if (failure === undefined) return;
  failed++;
  const kept = failure.input.length > 0 ? ` ${keepInput(name, failure.input)}` : "";
  process.stdout.write(`${name}:${kept} ${failure.reason}\n`);
});
process.stdout.write(`${chosen.length - failed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;

function numberOf(given: string | undefined, usual: number): number {
  const value = given === undefined ? usual : Number(given);
  if (!Number.isFinite(value)) throw new RangeError(`${given} is no number`);
  return value;
}
