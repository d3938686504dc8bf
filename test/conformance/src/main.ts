/** `pnpm conformance`: the pure core held against captured configurations and Istio's own test cases. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { CorpusResult } from "./corpora/corpus.ts";
import { corpora } from "./corpora/index.ts";
import { readFloors, underFloor } from "./floors.ts";
import { type Options, parseOptions, usage } from "./options.ts";
import { isWhole, printReport, summarize } from "./report.ts";
import { parseRules } from "./scenarios/compare.ts";
import { runScenario, type ScenarioResult } from "./scenarios/run.ts";
import { loadScenarios } from "./scenarios/scenario.ts";

/** Scenario groups that the project claims; others run when they are named. */
const claimedGroups = [
  "services",
  "serviceentry",
  "virtualservice",
  "destinationrule",
  "sidecar-resource",
  "locality",
  "mesh",
  "large",
  "security",
  "telemetry",
  "gateway-api",
];
/** Until gateways are claimed too. */
const claimedProxyTypes = ["sidecar"];

const here = dirname(fileURLToPath(import.meta.url));
const write = (line: string) => process.stdout.write(`${line}\n`);

if (process.argv.includes("--help")) write(usage);
else await main(parseOptions(process.argv.slice(2), join(here, "../../..")));

async function main(options: Options): Promise<void> {
  const scenarios = runScenarios(options);
  const cases = await runCorpora(options);
  const report = summarize(scenarios, cases);
  if (options.verbose) printDetails(scenarios, cases);
  printReport(report, write);
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(report, null, 2)}\n`);
  const fallen = options.floors ? underFloor(report, readFloors(join(here, "../floors.json"))) : [];
  for (const sentence of fallen) write(sentence);
  if (options.floors)
    write(
      `${scenarios.length + cases.length - Math.min(fallen.length, scenarios.length)} passed, ${fallen.length} failed`,
    );
  if (fallen.length > 0) process.exitCode = 1;
}

function runScenarios({ names, scenarios, proxyTypes }: Options): readonly ScenarioResult[] {
  if (!existsSync(scenarios)) {
    write(`skipped: no scenarios in ${scenarios}`);
    return [];
  }
  const wanted = names.length === 0 ? claimedGroups : names.filter((name) => corpora[name] === undefined);
  if (wanted.length === 0) return [];
  const types = proxyTypes.length === 0 && names.length === 0 ? claimedProxyTypes : proxyTypes;
  const wants = (proxy: { readonly type: string }) => types.length === 0 || types.includes(proxy.type);
  const rules = parseRules(readFileSync(join(scenarios, "ignore.txt"), "utf8"));
  return loadScenarios(scenarios, wanted)
    .filter(({ proxies }) => proxies.some(wants))
    .map((scenario) => runScenario(scenario, wants, rules));
}

async function runCorpora({ names, corpus }: Options): Promise<readonly CorpusResult[]> {
  const wanted = Object.keys(corpora).filter((name) => names.length === 0 || names.includes(name));
  if (wanted.length > 0 && !existsSync(corpus)) {
    write(`skipped: no corpora in ${corpus}`);
    return [];
  }
  const results: CorpusResult[] = [];
  for (const name of wanted) {
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
