/**
 * `pnpm fuzz [TARGET…] [--minutes N | --seconds N] [--inputs N] [--seed N] [--keep N]`: readers of what strangers send, on inputs made of
 * kept ones and of those that reached new code. An input that fails is kept in scripts/fuzz/corpus and named; so are, with `--keep`, as many that
 * reached new code. Without options each target has 100,000 inputs or 20 seconds; CI gives it 3.
 */
import { parseArgs } from "node:util";
import { keepInput } from "./fuzz/corpus.ts";
import { runTarget } from "./fuzz/run-target.ts";
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
const seconds = values.minutes === undefined ? numberOf(values.seconds, 20) : 60 * numberOf(values.minutes, 1);
const limits = {
  seconds,
  seed: numberOf(values.seed, 1),
  maxInputs: numberOf(values.inputs, values.minutes === undefined ? 100_000 : Number.MAX_SAFE_INTEGER),
};
let failed = 0;
const chosen = fuzzTargets.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
for (const target of chosen) {
  const { inputs, slowestMs, failure, reached, functions } = await runTarget(target, limits);
  const found = `${reached.length} reached new code, ${functions} functions ran`;
  process.stdout.write(`${target.name}: ${inputs} inputs, the slowest ${slowestMs.toFixed(1)} ms; ${found}\n`);
  for (const input of reached.slice(0, numberOf(values.keep, 0))) keepInput(target.name, input, "reached");
  if (failure === undefined) continue;
  failed++;
  const kept = failure.input.length > 0 ? ` ${keepInput(target.name, failure.input)}` : "";
  process.stdout.write(`${target.name}:${kept} ${failure.reason}\n`);
}
process.stdout.write(`${chosen.length - failed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;

function numberOf(given: string | undefined, usual: number): number {
  const value = given === undefined ? usual : Number(given);
  if (!Number.isFinite(value)) throw new RangeError(`${given} is no number`);
  return value;
}
