/** The sources of a service-controller, and what it writes into its cluster, by its settings. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { connectBus } from "@flotilla/bus";
import { ClusterRegistries, defaultRegistrySettings } from "@flotilla/registry";
import { createMetrics, noopLogger } from "@flotilla/runtime";
import { declareMetrics } from "../metrics.ts";
import { type RegistryService, readSettings } from "../settings.ts";
import { openInputs } from "./inputs.ts";
import { openWriters } from "./kubernetes-writers.ts";
import type { ProblemReports } from "./problem-reports.ts";

const directory = mkdtempSync(join(tmpdir(), "service-controller-inputs-"));
after(() => rmSync(directory, { recursive: true, force: true }));
const kubeconfig = join(directory, "kubeconfig");
writeFileSync(
  kubeconfig,
  JSON.stringify({
    ...{
      clusters: [{ name: "c", cluster: { server: "https://127.0.0.1:1" } }],
      users: [{ name: "u", user: { token: "t" } }],
    },
    ...{ contexts: [{ name: "x", context: { cluster: "c", user: "u" } }], "current-context": "x" },
  }),
);

type Env = Readonly<Record<string, string>>;
const silent = { PILOT_ENABLE_WORKLOAD_ENTRY_AUTOREGISTRATION: "false" };
const exporting = { ENABLE_MCS_AUTO_EXPORT: "true" };
const inCluster = { CLUSTER_KUBECONFIG: kubeconfig };
let buses = 0;

async function opened(env: Env) {
  const stop = new AbortController();
  const [log, metrics] = [noopLogger, createMetrics()];
  await using bus = await connectBus({ url: `embedded:inputs-${++buses}`, clientName: "t", log }, stop.signal);
  const service = { settings: readSettings(env), metrics, log, failures: undefined, stop: stop.signal, version: "1" };
  const watched: (string | undefined)[] = [];
  const problems = {
    note: () => undefined,
    add: (...sources: readonly ({ readonly name: string } | undefined)[]) =>
      watched.push(...sources.map((source) => source?.name)),
  } as unknown as ProblemReports;
  const given = service as unknown as RegistryService;
  await using inputs = await openInputs(given, { bus, problems, metrics: declareMetrics(metrics) });
  const names = inputs.sources.map(({ name }) => name);
  assert.deepEqual(watched, names, "problems of each are reported");
  const registry = new ClusterRegistries(defaultRegistrySettings);
  using writers = openWriters(given, { bus, registry, inputs, problems });
  const page = await metrics.text();
  assert.match(page, /^# TYPE istiod_managed_clusters gauge$/m);
  return { names, writes: writers !== undefined, hasCluster: inputs.cluster !== undefined };
}

describe("a service-controller reads", () => {
  const cases: readonly (readonly [name: string, env: Env, names: readonly string[]])[] = [
    ["configuration alone", silent, ["configuration"]],
    ["machines that register", {}, ["machines", "configuration"]],
    ["a directory of objects", { ...silent, CONFIG_DIR: directory }, [`file:${directory}`, "configuration"]],
    ["a file of a registry", { ...silent, REGISTRY_FILE: kubeconfig }, ["registry file", "configuration"]],
    ["its cluster", { ...silent, ...inCluster }, ["kubernetes", "configuration"]],
    ["Consul", { ...silent, CONSUL_HTTP_ADDR: "http://127.0.0.1:1" }, ["consul", "configuration"]],
  ];
  for (const [name, env, names] of cases) it(name, async () => assert.deepEqual((await opened(env)).names, names));
});

describe("a service-controller writes into Kubernetes", () => {
  const cases: readonly (readonly [name: string, env: Env, writes: boolean])[] = [
    ["nothing without a cluster", exporting, false],
    ["nothing where nothing is asked for", { ...inCluster, ...silent }, false],
    ["entries of machines that register", inCluster, true],
    ["exports of services", { ...inCluster, ...silent, ...exporting }, true],
  ];
  for (const [name, env, writes] of cases)
    it(name, async () => {
      const { hasCluster, ...found } = await opened(env);
      assert.deepEqual([found.writes, hasCluster], [writes, "CLUSTER_KUBECONFIG" in env]);
    });
});
