/**
 * `pnpm conformance`: the pure core held against what istiod sends, and Istio's own test cases where they are at hand. Fails when
 * nothing was compared or a name is unknown, and with `--floors` when a result is under its floor.
 */
import { existsSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isClaimed, printUnclaimed, summarizeUnclaimed } from "./claims.ts";
import type { CorpusResult } from "./corpora/corpus.ts";
import { corpora } from "./corpora/index.ts";
import { readFloors, underFloor } from "./floors.ts";
import { type Options, parseOptions, usage } from "./options.ts";
import { classifyReference, printReference, referenceFailures } from "./reference/reference.ts";
import { isWhole, printReport, summarize } from "./report.ts";
import { readRules } from "./scenarios/load.ts";
import { runScenario, type ScenarioResult } from "./scenarios/run.ts";
import { hasSeveralClusters, type ScenarioProxy } from "./scenarios/scenario.ts";
import { type Selection, select } from "./selection.ts";
import { type OpenPlane, openEmbedded } from "./wire/plane.ts";
import { runOverWire, type WireResult, wireLimits } from "./wire/run-wire.ts";

const here = dirname(fileURLToPath(import.meta.url));
/** Also a name beside groups and corpora. */
const referenceName = "reference";
const write = (line: string) => process.stdout.write(`${line}\n`);

if (process.argv.includes("--help")) write(usage);
else await main(parseOptions(process.argv.slice(2), join(here, "../../..")));

async function main(given: Options): Promise<void> {
  const wantsReference = given.names.length === 0 || given.names.includes(referenceName);
  const options = { ...given, names: given.names.filter((name) => name !== referenceName) };
  const floors = readFloors(join(here, "../floors.json"));
  const reference = wantsReference && given.wire === undefined ? await classifyReference(given.corpus) : undefined;
  if (reference !== undefined) printReference(reference, write, given.verbose);
  const ofReference = reference === undefined ? [] : referenceFailures(reference, floors.reference);
  if (given.names.length > 0 && options.names.length === 0) return failWith(ofReference);
  const selection = select(options);
  for (const problem of selection.problems) write(problem);
  if (options.wire !== undefined) return compareOverWire(options, options.wire, selection);
  const { claimed, others } = runScenarios(options, selection);
  const cases = await runCorpora(options, selection);
  const report = summarize(claimed, cases);
  if (options.verbose) printDetails(claimed, cases);
  printReport(report, write);
  const unclaimed = summarizeUnclaimed(others);
  printUnclaimed(unclaimed, write);
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify({ ...report, unclaimed }, null, 2)}\n`);
  const failures = [
    ...selection.problems,
    ...ofReference,
    ...(options.floors ? underFloor(report, floors, options.names.length === 0) : []),
    ...(compared(claimed, cases) === 0 ? ["nothing was compared"] : []),
  ];
  failWith(failures);
  if (options.floors) {
    const count = claimed.length + cases.length;
    write(`${count - Math.min(failures.length, count)} passed, ${failures.length} failed`);
  }
}

function failWith(failures: readonly string[]): void {
  for (const sentence of failures) write(sentence);
  if (failures.length > 0) process.exitCode = 1;
}

/** In the order of their names, one after the other: a control plane takes a processor of its own. */
async function compareOverWire(options: Options, open: OpenPlane, selection: Selection): Promise<void> {
  const { names, proxyTypes, forms, scenarios } = options;
  const isNamed = names.length > 0 || proxyTypes.length > 0;
  const rules = readRules(scenarios);
  const results: WireResult[] = [];
  for (const scenario of selection.scenarios) {
    const wants = (proxy: ScenarioProxy) =>
      isNamed ? proxyTypes.length === 0 || proxyTypes.includes(proxy.type) : isClaimed(scenario, proxy);
    if (!scenario.proxies.some(wants)) continue;
    if (open === openEmbedded && hasSeveralClusters(scenario)) {
      write(`not compared: ${scenario.group}/${scenario.name} has several clusters, files those of one`);
      continue;
    }
    const result = await runOverWire(scenario, { ...wireLimits, open, forms, wants, rules });
    results.push(result);
    if (!isWhole(result) || result.resent.length > 0) printDetails([result], []);
    for (const what of result.resent) write(`  sent again unchanged: ${what}`);
  }
  const report = summarize(results, []);
  printReport(report, write);
  const count = (pick: (result: WireResult) => number) => results.reduce((sum, result) => sum + pick(result), 0);
  const [resent, stages] = [count((result) => result.resent.length), count((result) => result.stages)];
  write(`stages: ${stages}  sent again unchanged: ${resent}`);
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify({ ...report, resent }, null, 2)}\n`);
  const isGood = resent === 0 && results.every(isWhole) && compared(results, []) > 0 && selection.problems.length === 0;
  if (!isGood) process.exitCode = 1;
  if (compared(results, []) === 0) write("nothing was compared");
}

function compared(scenarios: readonly ScenarioResult[], cases: readonly CorpusResult[]): number {
  return (
    scenarios.reduce((sum, { resources }) => sum + resources.length, 0) +
    cases.reduce((sum, { cases: all }) => sum + all.length, 0)
  );
}

interface Runs {
  readonly claimed: readonly ScenarioResult[];
  /** Other results of the same scenarios: listed with their numbers, and no failure. */
  readonly others: readonly ScenarioResult[];
}

/** Names and proxy types that are given are compared whether they are claimed or not. */
function runScenarios({ names, scenarios, proxyTypes }: Options, selection: Selection): Runs {
  const rules = readRules(scenarios);
  const isNamed = names.length > 0 || proxyTypes.length > 0;
  const results = selection.scenarios.map((scenario) => {
    const wants = (proxy: ScenarioProxy) =>
      isNamed ? proxyTypes.length === 0 || proxyTypes.includes(proxy.type) : isClaimed(scenario, proxy);
    const [wanted, rest] = [scenario.proxies.filter(wants), scenario.proxies.filter((proxy) => !wants(proxy))];
    return {
      claimed: wanted.length === 0 ? [] : [runScenario(scenario, wants, rules)],
      others: isNamed || rest.length === 0 ? [] : [runScenario(scenario, (proxy) => !wants(proxy), rules)],
    };
  });
  return {
    claimed: results.flatMap(({ claimed }) => claimed),
    others: results.flatMap(({ others }) => others),
  };
}

async function runCorpora({ corpus, names }: Options, selection: Selection): Promise<readonly CorpusResult[]> {
  if (
    selection.corpora.length === 0 &&
    !existsSync(corpus) &&
    names.every((name) => corpora[name.replace(/^corpora\//, "")] !== undefined)
  )
    write(`skipped: Istio's own test cases, which are no part of the project: no folder ${corpus} (--corpus DIR)`);
  const results: CorpusResult[] = [];
  for (const name of selection.corpora) {
    const driver = await corpora[name]?.();
    if (driver !== undefined) results.push({ name, cases: await driver(join(corpus, name)) });
  }
  return results;
}

function printDetails(scenarios: readonly ScenarioResult[], cases: readonly CorpusResult[]): void {
  for (const result of scenarios.filter((result) => !isWhole(result))) {
    const { scenario, resources, error } = result;
    write(`--- ${scenario.group}/${scenario.name}`);
    if (error !== undefined) write(`    ${error instanceof Error ? error.stack : error}`);
    for (const { proxy, stage, type, name, outcome, differences } of resources) {
      if (outcome === "equal") continue;
      write(`  ${outcome} ${stage === "" ? "" : `${stage} `}${proxy} ${type} ${name}`);
      for (const { path, want, got } of differences.slice(0, 8))
        write(`      ${path}: want ${short(want)} got ${short(got)}`);
    }
  }
  for (const { name, cases: results } of cases) {
    for (const result of results) if (!result.passed) write(`  ${name}: ${result.name}: ${result.detail ?? "failed"}`);
  }
}

function short(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
