/**
 * `pnpm conformance:record`: asks a running istiod as each scenario's proxies and writes the expectations anew. Unchanged parts keep their
 * text, so that the diff of the folder shows the differences of another istiod.
 */
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { openerOf, wireOptions } from "./options.ts";
import { writeExpectations } from "./scenarios/form/tree.ts";
import { loadScenarios, readRules, scenarioNames } from "./scenarios/load.ts";
import { mergeCapture } from "./scenarios/merge-capture.ts";
import type { Capture, Scenario } from "./scenarios/scenario.ts";
import type { OpenPlane } from "./wire/plane.ts";
import { recordOverWire } from "./wire/record-wire.ts";

const usage = `pnpm conformance:record [NAME…] --istiod HOST:PORT [--ca FILE] [--input DIR]
pnpm conformance:record [NAME…] --start COMMAND

Asks an istiod as the proxies of the scenarios (groups or GROUP/NAME; all without a name) and writes what it sends to test/conformance/scenarios.
--istiod names one that runs already: with --input DIR it reads DIR/input, DIR/mesh.yaml and DIR/networks.yaml, and scenarios and their steps are
written there; without, it must hold the input of the one scenario that is named, and its first stage is recorded. --start runs one process for
each scenario; COMMAND may name {input} {clusters} {mesh} {networks} {env} {port} {work}. --check writes nothing and fails when something differs.`;

const root = join(dirname(fileURLToPath(import.meta.url)), "../scenarios");
const write = (line: string) => process.stdout.write(`${line}\n`);

if (process.argv.includes("--help")) write(usage);
else await main();

async function main(): Promise<void> {
  const { values, positionals: names } = parseArgs({
    allowPositionals: true,
    options: {
      istiod: { type: "string" },
      scenarios: { type: "string", default: root },
      check: { type: "boolean", default: false },
      start: wireOptions.start,
      ca: wireOptions.ca,
      input: wireOptions.input,
    },
  });
  const { istiod: target, scenarios: folder, check, ...rest } = values;
  const open = openerOf({ ...rest, target });
  if (open === undefined) throw new RangeError(`--istiod HOST:PORT or --start COMMAND is needed\n${usage}`);
  const unknown = names.filter((name) => !scenarioNames(folder).includes(name));
  if (unknown.length > 0) throw new RangeError(`no scenario or group is called ${unknown.join(", ")}`);
  const all = loadScenarios(folder, []);
  const isWanted = ({ group, name }: Scenario) =>
    names.length === 0 || names.includes(group) || names.includes(`${group}/${name}`);
  if (target !== undefined && values.input === undefined && all.filter(isWanted).length !== 1)
    throw new RangeError("without --input, --istiod holds the input of one scenario: name that one");
  const recorded: Scenario[] = [];
  let changed = 0;
  for (const scenario of all) {
    const result = isWanted(scenario) ? await record(scenario, open, folder) : { scenario, changed: 0 };
    recorded.push(result.scenario);
    changed += result.changed;
  }
  if (!check && changed > 0) writeExpectations(folder, recorded);
  write(`${all.filter(isWanted).length} scenarios recorded, ${changed} resources differ`);
  if (check && changed > 0) process.exitCode = 1;
}

async function record(
  scenario: Scenario,
  open: OpenPlane,
  folder: string,
): Promise<{ readonly scenario: Scenario; readonly changed: number }> {
  const rules = readRules(folder);
  const captures = await recordOverWire(scenario, open);
  let changed = 0;
  const stages = scenario.stages.map((stage, index) => {
    const now = captures[index];
    if (now === undefined) return stage;
    const expected = new Map<string, Capture>();
    for (const { name: proxy } of scenario.proxies) {
      const merged = mergeCapture(stage.expected.get(proxy) ?? new Map(), now.get(proxy) ?? new Map(), rules);
      changed += merged.changed;
      expected.set(proxy, merged.capture);
    }
    return { ...stage, expected };
  });
  write(`${scenario.group}/${scenario.name}: ${changed === 0 ? "as before" : `${changed} resources differ`}`);
  return { scenario: { ...scenario, stages }, changed };
}
