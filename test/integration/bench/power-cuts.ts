/**
 * `pnpm power-cuts [--rounds N] [--seed N]`: power cuts of real stores under real services, each at a random moment, with what is lost and
 * who is stopped chosen at random. A failing round is printed with its plan; the same seed plans the same rounds.
 */
import { parseArgs } from "node:util";
import type { RoundResult } from "../src/power-cuts/round.ts";
import { runPowerCuts } from "../src/power-cuts/world.ts";

const { values } = parseArgs({
  options: { rounds: { type: "string", default: "1000" }, seed: { type: "string", default: "1" } },
});
const [rounds, firstSeed] = [Number(values.rounds), Number(values.seed)];
const results: RoundResult[] = [];
/** After a failure the next rounds have a mesh of their own. */
for (let seed = firstSeed; results.length < rounds; seed++)
  results.push(...(await runPowerCuts({ rounds: rounds - results.length, seed, onRound })));

const failed = results.filter(({ failure }) => failure !== undefined);
const times = results.map(({ convergedAfterMs }) => convergedAfterMs).sort((a, b) => a - b);
const at = (share: number) => Math.round(times[Math.floor(share * (times.length - 1))] ?? 0);
const line = (name: string, some: readonly RoundResult[]) => {
  const named = some.filter(({ reported }) => reported.length > 0).length;
  const slowest = Math.round(Math.max(0, ...some.map(({ convergedAfterMs }) => convergedAfterMs)));
  const wrong = some.filter(({ failure }) => failure !== undefined).length;
  return `| ${name} | ${some.length} | ${wrong} | ${named} | ${slowest} |\n`;
};
process.stdout.write("\n| | rounds | failed | with named losses | slowest, ms |\n|---|---|---|---|---|\n");
for (const store of ["nats", "redis"] as const)
  for (const loss of ["untouched", "none", "torn", "rewound", "rewound and torn", "wiped"] as const)
    process.stdout.write(
      line(
        `${store}: ${loss}`,
        results.filter(({ plan }) => plan.losses[store] === loss),
      ),
    );
for (const service of ["ca", "config-controller", "service-controller", "xds-server"] as const)
  process.stdout.write(
    line(
      `${service} stopped`,
      results.filter(({ plan }) => plan.stopped.includes(service)),
    ),
  );
for (const phase of ["idle", "trusting", "issuing", "reverting", "finishing"])
  process.stdout.write(
    line(
      `rotation ${phase}`,
      results.filter((result) => result.phase === phase),
    ),
  );
process.stdout.write(line("all", results));
process.stdout.write(`converged after: p50 ${at(0.5)}, p99 ${at(0.99)}, slowest ${at(1)} ms\n`);
process.exit(failed.length === 0 ? 0 : 1);

function onRound(round: number, { plan, phase, convergedAfterMs, reported, failure }: RoundResult): void {
  const { losses, stopped, order } = plan;
  const what = `rotation ${phase}, nats ${losses.nats}, redis ${losses.redis}, stopped ${stopped.join(" ") || "none"}, back ${order.join(" ")}`;
  const came = failure === undefined ? `${Math.round(convergedAfterMs)} ms` : `FAILED: ${failure}`;
  process.stdout.write(`${round}: ${what}: ${came}${reported.length > 0 ? `, named ${reported.join(" ")}` : ""}\n`);
}
