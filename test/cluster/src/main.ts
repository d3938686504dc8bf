/** `pnpm test:cluster [SUITE…]`: see README.md. Suites share one cluster, so they run one after the other. */
import { spawnSync } from "node:child_process";
import { after } from "node:test";
import { figuresTable } from "./figures.ts";

const suites = {
  install: "./install.suite.ts",
  upgrade: "./upgrade.suite.ts",
  "high-availability": "./high-availability.suite.ts",
  helm: "./helm.suite.ts",
  istiod: "./istiod.suite.ts",
  admission: "./admission.suite.ts",
  ambient: "./ambient.suite.ts",
} as const;

/** Why nothing can be tested. */
function missing(): string | undefined {
  if (!process.env["KUBECONFIG"]) return "KUBECONFIG names no cluster";
  const { status, stderr, error } = spawnSync("kubectl", ["get", "--raw", "/readyz"], { encoding: "utf8" });
  return status === 0 ? undefined : `the cluster of KUBECONFIG is not ready: ${error?.message ?? stderr.trim()}`;
}

const names = process.argv.slice(2);
const unknown = names.find((name) => !(name in suites));
const reason = missing();
if (unknown !== undefined) {
  process.stderr.write(`test:cluster: no suite ${unknown}; there are ${Object.keys(suites).join(", ")}\n`);
  process.exitCode = 2;
} else if (reason !== undefined) {
  process.stderr.write(`\nSKIPPED: nothing is tested on a cluster: ${reason}. See test/cluster/README.md\n\n`);
  process.exitCode = process.env["CI"] === "true" ? 1 : 0;
} else {
  for (const [name, file] of Object.entries(suites)) if (names.length === 0 || names.includes(name)) await import(file);
  after(() => process.stdout.write(`\n${figuresTable()}\n\n`));
}
