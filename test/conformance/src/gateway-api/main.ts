/**
 * `pnpm conformance:gateway-api`: the own suites of the Gateway API and, with `--inference`, of its Inference Extension against the cluster of
 * KUBECONFIG, in which Flotilla is installed.
 */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseArgs, promisify } from "node:util";
import { parse } from "yaml";
import manifest from "../../../../package.json" with { type: "json" };
import { claimedFeatures, meshProfiles, type Profile, profiles } from "./features.ts";
import { buildSuite, type SuiteName } from "./suite.ts";

const run = promisify(execFile);
const write = (line: string) => process.stdout.write(`${line}\n`);
const repository = join(import.meta.dirname, "../../../..");

const usage = `usage: pnpm conformance:gateway-api [options]
  --profiles A,B       of the suite (${meshProfiles.join(",")}; all: ${profiles.join(",")})
  --inference          the suite of the Inference Extension, which has one profile, instead of the Gateway API's
  --gateway-class NAME whose Gateways are tested, by GATEWAY profiles and --inference (istio)
  --report FILE        where the report goes (docs/conformance/gateway-api-mesh.yaml, gateway-api.yaml with a GATEWAY profile, inference-extension.yaml)
  --test NAME          one test of the suite, such as MeshFrontendHostname; no report is written
  --definitions        installs the definitions of the suite's version first (kubectl)
  --namespace-labels L labels that have pods of the suite injected (istio-injection=enabled)
KUBECONFIG names the cluster; xds-server runs there with ENABLE_CLUSTER_IP_MATCHING=true, GATEWAY_MISDIRECTED_REQUESTS=true and GATEWAY_UDP_ROUTES=true; k8s/base sets the last two.`;

/** An address of a Gateway is a Service: one of the suite's own, and one that is not there. */
const staticAddresses = ["infra-backend-v1", "missing"].map(
  (name) => `${name}.gateway-conformance-infra.svc.cluster.local`,
);

const { values } = parseArgs({
  options: {
    profiles: { type: "string", default: meshProfiles.join(",") },
    inference: { type: "boolean", default: false },
    "gateway-class": { type: "string", default: "istio" },
    report: { type: "string" },
    test: { type: "string" },
    definitions: { type: "boolean", default: false },
    "namespace-labels": { type: "string", default: "istio-injection=enabled" },
    help: { type: "boolean", default: false },
  },
});

/** The arguments of one run of a suite. */
interface SuiteRun {
  readonly suite: SuiteName;
  readonly args: readonly string[];
  /** Of docs/conformance. */
  readonly report: string;
  /** Objects that the suite expects, and does not make itself. */
  readonly objects?: string;
}

if (values.help) write(usage);
else await main(values.inference ? inferenceRun() : gatewayApiRun(values.profiles.split(",").map(profileOf)));

function inferenceRun(): SuiteRun {
  const args = [`--gateway-class=${values["gateway-class"]}`];
  const objects = join(import.meta.dirname, "endpoint-pickers.yaml");
  return { suite: "inference", args, report: "inference-extension.yaml", objects };
}

function gatewayApiRun(wanted: readonly Profile[]): SuiteRun {
  const args = [
    `--conformance-profiles=${wanted.join(",")}`,
    `--supported-features=${claimedFeatures(wanted).join(",")}`,
  ];
  if (wanted.every((profile) => meshProfiles.includes(profile))) {
    args.push(`--namespace-labels=${values["namespace-labels"]}`);
    const objects = join(import.meta.dirname, "backends.yaml");
    return { suite: "gateway-api", args, report: "gateway-api-mesh.yaml", objects };
  }
  args.push(
    `--gateway-class=${values["gateway-class"]}`,
    `--usable-address=${staticAddresses[0]}`,
    `--unusable-address=${staticAddresses[1]}`,
  );
  return { suite: "gateway-api", args, report: "gateway-api.yaml" };
}

async function main({ suite: name, args: ofSuite, report: own, objects }: SuiteRun): Promise<void> {
  const reason = await missing();
  if (reason !== undefined) {
    write(`SKIPPED: the conformance (suite ${name}) was NOT tested: ${reason}`);
    return;
  }
  const suite = await buildSuite(name, process.env, write);
  if (values.definitions) await run("kubectl", ["apply", "--server-side", "-k", suite.definitions]);
  const report = resolve(values.report ?? join(repository, "docs/conformance", own));
  mkdirSync(dirname(report), { recursive: true });
  const startedMs = Date.now();
  const args = [
    ...["-test.v", "-test.run", "^TestConformance$", "-test.timeout", "60m"],
    ...ofSuite,
    "--allow-crds-mismatch",
    ...["--organization=flotilla", "--project=flotilla", "--url=https://flotilla.invalid", "--contact=@flotilla"],
    `--version=v${manifest.version}`,
    ...(values.test === undefined ? [`--report-output=${report}`] : [`--run-test=${values.test}`]),
  ];
  if (objects !== undefined) await run("kubectl", ["apply", "-f", objects]);
  const child = spawn(suite.program, args, { cwd: dirname(suite.program), stdio: "inherit" });
  const [code] = (await once(child, "exit")) as [number | null];
  if (objects !== undefined) await run("kubectl", ["delete", "--wait=false", "-f", objects]);
  const isNew = existsSync(report) && statSync(report).mtimeMs >= startedMs;
  if (isNew) summarize(report);
  else if (values.test === undefined) write("the suite ended before it wrote a report");
  process.exitCode = code === 0 ? 0 : 1;
}

/** Why the suite cannot run here. */
async function missing(): Promise<string | undefined> {
  if (process.env["KUBECONFIG"] === undefined) return "KUBECONFIG names no cluster";
  try {
    await run("go", ["version"]);
  } catch {
    return "there is no Go to build the suite with";
  }
  try {
    await run("kubectl", ["get", "namespaces", "--request-timeout=10s"]);
    return undefined;
  } catch (error) {
    return `the cluster of KUBECONFIG does not answer kubectl: ${(error as Error).message.trim().split("\n").at(-1)}`;
  }
}

interface Statistics {
  readonly statistics: { readonly Passed: number; readonly Failed: number; readonly Skipped: number };
}

function summarize(report: string): void {
  const { profiles: found = [] } = parse(readFileSync(report, "utf8")) as {
    readonly profiles?: readonly ({ readonly name: string } & Record<"core" | "extended", Statistics | undefined>)[];
  };
  for (const { name, core, extended } of found)
    for (const [part, counts] of Object.entries({ core, extended }))
      if (counts !== undefined)
        write(`${name} ${part}: ${counts.statistics.Passed} passed, ${counts.statistics.Failed} failed`);
  write(`report: ${report}`);
}

function profileOf(name: string): Profile {
  const profile = profiles.find((one) => one === name);
  if (profile === undefined) throw new RangeError(`there is no profile ${name}: ${profiles.join(", ")}`);
  return profile;
}
