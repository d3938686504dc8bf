/**
 * Builds the kube-apiserver and the etcd of the tests from the Go modules in test/kubernetes into the user's cache, once a version. Without
 * Go it reports that and ends well: the tests that need them skip, loudly. The first build takes about ten minutes.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { kubeAssetsDirectory } from "../packages/kube-api/src/kube-assets.ts";

const module = join(dirname(dirname(fileURLToPath(import.meta.url))), "test", "kubernetes");
const version = /k8s\.io\/kubernetes (v\S+)/.exec(readFileSync(join(module, "go.mod"), "utf8"))?.[1] ?? "unknown";
const assets = kubeAssetsDirectory(process.env);
const stamp = `-X k8s.io/component-base/version.gitVersion=${version}`;
const programs = {
  etcd: { module: join(module, "etcd"), flags: "-s -w", main: "go.etcd.io/etcd/server/v3" },
  "kube-apiserver": { module, flags: `-s -w ${stamp}`, main: "k8s.io/kubernetes/cmd/kube-apiserver" },
} as const;

const missing = (Object.keys(programs) as (keyof typeof programs)[]).filter((name) => !existsSync(join(assets, name)));
if (missing.length === 0) process.stdout.write(`${assets} is complete\n`);
else if (spawnSync("go", ["version"]).status !== 0)
  process.stdout.write("SKIPPED: there is no Go to build kube-apiserver with; tests that need it will be skipped\n");
else for (const name of missing) await build(name);

async function build(name: keyof typeof programs): Promise<void> {
  mkdirSync(assets, { recursive: true });
  const draft = join(assets, `${name}.${process.pid}.tmp`);
  const started = performance.now();
  // Niced: it takes the processors for minutes, and work beside it should not be slowed down.
  const { module: cwd, flags, main } = programs[name];
  const args = ["-n", "15", "go", "build", "-trimpath", "-ldflags", flags, "-o", draft, main];
  const child = spawn("nice", args, { cwd, stdio: ["ignore", "inherit", "inherit"] });
  const report = () =>
    process.stdout.write(`building ${name}: ${Math.round((performance.now() - started) / 1000)} s\n`);
  report();
  const timer = setInterval(report, 60_000);
  const code = await new Promise<number | null>((resolve) => {
    child.once("error", () => resolve(null));
    child.once("close", resolve);
  });
  clearInterval(timer);
  if (code === 0) renameSync(draft, join(assets, name));
  else process.stdout.write(`SKIPPED: ${name} cannot be built (${code}); tests that need it will be skipped\n`);
}
