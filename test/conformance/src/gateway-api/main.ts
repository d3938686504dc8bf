/** `pnpm conformance:gateway-api`: the Gateway API's own suite against the cluster of KUBECONFIG, in which Flotilla is installed. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseArgs, promisify } from "node:util";
import { parse } from "yaml";
import manifest from "../../../../package.json" with { type: "json" };
import { claimedFeatures, meshProfiles, type Profile, profiles } from "./features.ts";
import { buildSuite } from "./suite.ts";

const run = promisify(execFile);
const write = (line: string) => process.stdout.write(`${line}\n`);
const repository = join(import.meta.dirname, "../../../..");

const usage = `usage: pnpm conformance:gateway-api [options]
  --profiles A,B       of the suite (${meshProfiles.join(",")}; all: ${profiles.join(",")})
  --gateway-class NAME whose Gateways are tested, by GATEWAY profiles (istio)
  --report FILE        where the report goes (docs/conformance/gateway-api-mesh.yaml, or gateway-api.yaml with a GATEWAY profile)
  --test NAME          one test of the suite, such as MeshFrontendHostname; no report is written
  --definitions        installs the Gateway API's definitions of the suite's version first (kubectl)
  --namespace-labels L labels that have pods of the suite injected (istio-injection=enabled)
KUBECONFIG names the cluster; xds-server runs there with ENABLE_CLUSTER_IP_MATCHING=true, GATEWAY_MISDIRECTED_REQUESTS=true and GATEWAY_UDP_ROUTES=true; k8s/base sets the last two.`;

/** An address of a Gateway is a Service: one of the suite's own, and one that is not there. */
const staticAddresses = ["infra-backend-v1", "missing"].map(
  (name) => `${name}.gateway-conformance-infra.svc.cluster.local`,
);

const { values } = parseArgs({
  options: {
    profiles: { type: "string", default: meshProfiles.join(",") },
    "gateway-class": { type: "string", default: "istio" },
    report: { type: "string" },
    test: { type: "string" },
    definitions: { type: "boolean", default: false },
    "namespace-labels": { type: "string", default: "istio-injection=enabled" },
    help: { type: "boolean", default: false },
  },
});

if (values.help) write(usage);
else await main(values.profiles.split(",").map(profileOf));

async function main(wanted: readonly Profile[]): Promise<void> {
  const reason = await missing();
  if (reason !== undefined) {
    write(`SKIPPED: the Gateway API's conformance was NOT tested: ${reason}`);
    return;
  }
  const suite = await buildSuite(process.env, write);
  if (values.definitions) await run("kubectl", ["apply", "--server-side", "-k", suite.definitions]);
  const needsGateways = wanted.some((profile) => !meshProfiles.includes(profile));
  const own = join(repository, "docs/conformance", needsGateways ? "gateway-api.yaml" : "gateway-api-mesh.yaml");
  const report = resolve(values.report ?? own);
  mkdirSync(dirname(report), { recursive: true });
  const startedMs = Date.now();
  const args = [
    ...["-test.v", "-test.run", "^TestConformance$", "-test.timeout", "60m"],
    `--conformance-profiles=${wanted.join(",")}`,
    `--supported-features=${claimedFeatures(wanted).join(",")}`,
    ...(needsGateways
      ? [
          `--gateway-class=${values["gateway-class"]}`,
          `--usable-address=${staticAddresses[0]}`,
          `--unusable-address=${staticAddresses[1]}`,
        ]
      : [`--namespace-labels=${values["namespace-labels"]}`]),
    "--allow-crds-mismatch",
    ...["--organization=flotilla", "--project=flotilla", "--url=https://flotilla.invalid", "--contact=@flotilla"],
    `--version=v${manifest.version}`,
    ...(values.test === undefined ? [`--report-output=${report}`] : [`--run-test=${values.test}`]),
  ];
  const backends = join(import.meta.dirname, "backends.yaml");
  if (!needsGateways) await run("kubectl", ["apply", "-f", backends]);
  const child = spawn(suite.program, args, { cwd: dirname(suite.program), stdio: "inherit" });
  const [code] = (await once(child, "exit")) as [number | null];
  if (!needsGateways) await run("kubectl", ["delete", "--wait=false", "-f", backends]);
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
